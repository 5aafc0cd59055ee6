// The ways in which the same run is shown: from a file, on a phone, in Present, as a race, without motion.

import { root } from './host.js';
import { state } from './state.js';

/** @import { Step } from '../run/types.js' */

// A file without a server behind it: nothing there may need one, and its address is not ours to write.
/** @type {() => boolean} */
export const isStandalone = () => 'standalone' in root().dataset;

/** @type {() => boolean} */
export const wantsStillness = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

// --- a race: the plain loop and the speculative one, both really run, one after the other, and replayed here on one clock

export const racing = { of: null, ms: [], stopped: false, at: 0, slow: 1, timer: null, last: 0 };

/** @type {() => boolean} */
export const hasRace = () => racing.of !== null && racing.of === state.trace?.run_id && state.trace.baseline !== null && !state.live;

// --- a phone: the step as a list, the inspector as a sheet from below, the controls behind a button

let narrow = null; // asked for once: a beat looks at it many times

/** @type {() => MediaQueryList} */
export const phoneWidth = () => {
  narrow ??= window.matchMedia('(max-width: 600px)');
  return narrow;
};

/** @type {() => boolean} */
export const isPhone = () => phoneWidth().matches;

// --- Present: only the current step, large enough for the last row of a room

export const BIG_CELLS = 5; // above that many drafts the others are chips

export const presenting = { on: false, asked: false, blank: false, back: null };

/** @type {() => boolean} */
export const isPresenting = () => presenting.on;

// The first of the big cells, so that the coin's stands in their middle where it can. Positions count from 1.
const firstBig = (k, position) => Math.max(1, Math.min(position - Math.floor(BIG_CELLS / 2), k - BIG_CELLS + 1));

// Whether a draft is one of the big cells; everywhere but in Present all of them are.
/** @type {(step: Step, focus: number, position: number) => boolean} */
export const isBig = (step, focus, position) => {
  if (!isPresenting()) return true;
  const first = firstBig(step.k, focus);
  return position >= first && position < first + BIG_CELLS;
};
