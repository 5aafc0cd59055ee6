// The step's clock: its milliseconds as they pass, and to the same scale what the plain loop needed for the same tokens.

import { cellsOf, inOutput } from '../run/cells.js';
import { count, milliseconds } from '../run/numbers.js';
import { stepTimes } from '../run/speed.js';
import { make } from './dom.js';

/** @import { Figures, Step, Trace, View } from '../run/types.js' */

const laneOf = (className, ms, scale) => {
  const node = make('i', className);
  node.style.setProperty('--share', ms / scale);
  return node;
};

const stepLane = (step, times, view, scale) => {
  const done = view.drawn || (view.walked && !step.final);
  const parts = [
    [step.k > 0 && view.drafted === step.drafts.length, 'sv-lane-q', 'draft', times.draft],
    [view.verified, 'sv-lane-p', 'one pass', times.verify],
    [done, 'sv-lane-rest', 'rest', times.rest],
  ].filter(([shown]) => shown);
  const total = parts.reduce((sum, [, , , ms]) => sum + ms, 0);
  const words = parts.map(([, , name, ms]) => `${name} ${milliseconds(ms)}`).join(', ');
  return make('div', 'sv-lane', ...parts.map(([, className, , ms]) => laneOf(className, ms, scale)),
    make('span', '', parts.length === 0 ? '' : done ? `${milliseconds(total)}: ${words}` : words));
};

const plainLane = (times, tokens, scale) =>
  make('div', 'sv-lane',
    ...Array.from({ length: tokens }, () => laneOf('sv-lane-plain', times.plain, scale)),
    make('span', '', `${count(tokens, 'pass', 'passes')}: ${milliseconds(times.plain * tokens)}, ${times.source}`),
  );

/** @type {(place: HTMLElement, trace: Trace, figures: ?Figures, step: Step, view: View) => void} */
export const drawStepClock = (place, trace, figures, step, view) => {
  place.hidden = trace.settings.pair === 'toy' || !step.ms; // the toy has no forwards to time
  if (place.hidden) return;
  const tokens = cellsOf(step).filter(inOutput).length;
  const times = stepTimes(trace, step, figures);
  const plain = times.plain ?? 0;
  const scale = Math.max(times.draft + times.verify + times.rest, plain * tokens);
  const ended = view.drawn || (view.walked && !step.final);
  place.replaceChildren(make('span', '', 'this step'), stepLane(step, times, view, scale), make('span', '', 'plain loop'),
    ended && plain ? plainLane(times, tokens, scale) : make('div', 'sv-lane', make('span', '', plain ? '' : times.source)));
};
