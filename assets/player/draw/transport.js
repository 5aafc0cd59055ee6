// Play, pause, speeds, where the player stands, and what it says aloud.

import { beatWords, cellOfBeat } from '../run/beats.js';
import { coinName, survives } from '../run/cells.js';
import { apart, count, number } from '../run/numbers.js';
import { nameOf } from '../run/tokens.js';
import { isPredicting } from '../state/reveal.js';
import { state } from '../state/state.js';
import { make } from './dom.js';

/** @import { Beat, Step, Trace } from '../run/types.js' */

const verdictWords = (cell) => {
  const [coin, bound] = apart(cell.coin, Math.min(1, cell.ratio));
  const [where, verdict] = cell.state === 'accepted' ? ['below', 'kept'] : ['not below', 'rejected'];
  return `The ${coinName(cell)} said ${coin}, ${where} ${bound}: ${verdict}.`;
};

const drawWords = (name, cell) => {
  if (cell.alone) return `The target draws ${name}; nothing was drafted.`;
  return cell.state === 'bonus' ? `Every draft was kept. The target adds ${name}.` : `${name} takes the rejected token's place.`;
};

// A beat in a sentence, for the live region.
/** @type {(trace: Trace, step: Step, beat: Beat) => string} */
export const sayBeat = (trace, step, beat) => {
  const cell = cellOfBeat(step, beat);
  const name = cell ? nameOf(trace.tokens, cell.id) : '';
  const says = {
    start: () => `Step ${step.step}.`,
    draft: () => `The draft proposes ${name}, q ${number(cell.q)}.`,
    verify: () => `One target pass gives ${count(step.k + 1, 'row', 'rows')} of p.`,
    threshold: () => `${name} ${survives(cell)}.`,
    coin: () => `${name}. ${verdictWords(cell)}`,
    owed: () => `What the target is still owed, ${number(cell.mass)}, decides what takes its place.`,
    draw: () => drawWords(name, cell),
  };
  return says[beat.kind]();
};

/** @type {(place: HTMLElement, trace: Trace, beat: Beat) => void} */
export const drawWhere = (place, trace, beat) => {
  const steps = trace.steps.length;
  place.replaceChildren(
    'step ',
    make('b', '', String(beat.step)),
    `${isPredicting() ? '' : ` of ${steps}`}${state.live ? ' …' : ''} · `,
    make('b', '', beatWords(beat)),
  );
};

/** @type {(place: HTMLElement) => void} */
export const drawTransport = (place) => {
  const play = place.querySelector('[data-do="play"]');
  play.querySelector('span').textContent = state.playing ? 'Pause' : 'Play';
  play.dataset.playing = state.playing;
  place.querySelectorAll('[data-speed]').forEach((node) => node.setAttribute('aria-pressed', node.dataset.speed === state.speed));
};
