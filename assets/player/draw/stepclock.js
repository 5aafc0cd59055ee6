// The step's clock: its milliseconds as they pass, and to the same scale what the plain loop needed for the same tokens.

import { cellsOf, inOutput, plainToken } from '../run/cells.js';
import { count, milliseconds } from '../run/numbers.js';
import { make } from './dom.js';

/** @import { Step, Trace, View } from '../run/types.js' */

const NOT_YET = 'not measured yet';

const laneOf = (className, ms, scale) => {
  const node = make('i', className);
  node.style.setProperty('--share', ms / scale);
  return node;
};

const stepLane = (step, view, scale) => {
  const done = view.drawn || (view.walked && !step.final);
  const parts = [
    [step.k > 0 && view.drafted === step.drafts.length, 'sv-lane-q', 'draft', step.ms.draft],
    [view.verified, 'sv-lane-p', 'one pass', step.ms.verify],
    [done, 'sv-lane-rest', 'rest', step.ms.rest],
  ].filter(([shown]) => shown);
  const total = parts.reduce((sum, [, , , ms]) => sum + ms, 0);
  const words = parts.map(([, , name, ms]) => `${name} ${milliseconds(ms)}`).join(', ');
  return make('div', 'sv-lane', ...parts.map(([, className, , ms]) => laneOf(className, ms, scale)),
    make('span', '', parts.length === 0 ? '' : done ? `${milliseconds(total)}: ${words}` : words));
};

const plainLane = (plain, tokens, scale) =>
  make('div', 'sv-lane',
    ...Array.from({ length: tokens }, () => laneOf('sv-lane-plain', plain.ms, scale)),
    make('span', '', `${count(tokens, 'pass', 'passes')}: ${milliseconds(plain.ms * tokens)}, ${plain.source}`),
  );

/** @type {(place: HTMLElement, trace: Trace, step: Step, view: View) => void} */
export const drawStepClock = (place, trace, step, view) => {
  place.hidden = trace.settings.pair === 'toy' || !step.ms; // the toy has no forwards to time
  if (place.hidden) return;
  const tokens = cellsOf(step).filter(inOutput).length;
  const plain = plainToken(trace);
  const spent = step.ms.draft + step.ms.verify + step.ms.rest;
  const scale = Math.max(spent, plain ? plain.ms * tokens : 0);
  const ended = view.drawn || (view.walked && !step.final);
  place.replaceChildren(make('span', '', 'this step'), stepLane(step, view, scale), make('span', '', 'plain loop'),
    ended && plain ? plainLane(plain, tokens, scale) : make('div', 'sv-lane', make('span', '', plain ? '' : NOT_YET)));
};
