// The trace as cells. Everything here reads; nothing draws.

import { apart, finePercent } from './numbers.js';
import { nameOf, readable } from './tokens.js';

/** @import { Cell, Draft, Output, Spot, Step, Trace, Weight } from './types.js' */

export const STATES = {
  accepted: { glyph: '✓', word: 'kept', many: 'kept' },
  rejected: { glyph: '✗', word: 'rejected', many: 'rejected' },
  discarded: { glyph: '○', word: 'not used', many: 'not used' },
  residual: { glyph: '↻', word: 'replacement', many: 'replacement (residual)' },
  bonus: { glyph: '+', word: 'bonus', many: 'bonus' },
};

// A step that drafted nothing ends in a draw of the kind bonus that is no bonus to anything.
export const ALONE = { glyph: '+', word: "the target's own draw", many: "target's own draw" };

/** @type {(cell: Cell) => {glyph: string, word: string}} */
export const stateOf = (cell) => (cell.alone ? ALONE : STATES[cell.state]);

export const WHY_FEWER = {
  length: 'the length limit is near',
  context: 'the context is nearly full',
  proposals: 'the draft had no more to propose',
};

export const WHY_STOPPED = {
  length: 'stopped at the length asked for',
  end: 'stopped at the end token',
  context: 'stopped: the context is full',
  stopped: 'stopped by hand',
  error: 'stopped by an error',
};

export const DRAFT_KINDS = { lookup: 'prompt lookup', self: 'itself', noise: 'noise' };

const draftCell = (step, draft, i) => ({
  ...draft,
  step: step.step,
  position: i + 1,
  ratio: draft.coin === null ? null : draft.p / draft.q,
});

// The probability that a final token was drawn with.
const drawnWith = (final) => (final.kind === 'bonus' || final.fallback ? final.p : Math.max(final.p - final.q, 0) / final.mass);

const finalCell = (step, final, position) => ({
  ...final,
  step: step.step,
  position,
  state: final.kind,
  share: drawnWith(final),
  alone: step.k === 0,
});

// The final draw; under a deliberate mistake there may be a second one.
/** @type {(step: Step) => Cell[]} */
export const finalsOf = (step) => {
  const first = step.drafts.filter((draft) => draft.state === 'accepted').length + 1;
  return [step.final, step.extra].filter(Boolean).map((final, i) => finalCell(step, final, first + i));
};

/** @type {(cell: Cell | Spot) => boolean} */
export const isFinal = (cell) => 'kind' in cell;

/** @type {(step: Step) => Cell[]} */
export const cellsOf = (step) => [...step.drafts.map((draft, i) => draftCell(step, draft, i)), ...finalsOf(step)];

/** @type {(cell: Cell) => boolean} */
export const inOutput = (cell) => cell.state !== 'rejected' && cell.state !== 'discarded';

const outputCells = (trace) => trace.steps.flatMap((step) => cellsOf(step).filter(inOutput));

// Whose coin it was, where it was not the run's own.
/** @type {(cell: {by?: string}) => string} */
export const coinName = (cell) => (cell.by ? `${cell.by} coin` : 'coin');

/** @type {(trace: Trace, cell: {id: number}) => boolean} */
export const isEnd = (trace, cell) => trace.settings.end_ids.includes(cell.id);

/** @type {(a: Spot, b: Spot) => boolean} */
export const sameCell = (a, b) => a.step === b.step && a.position === b.position && a.state === b.state;

// The coin decides only where the chance is neither 0 nor 1.
/** @type {(cell: Cell) => boolean} */
export const coinMatters = (cell) => cell.ratio > 0 && cell.ratio < 1;

/** @type {(trace: Trace, cell: {id: number}) => string} */
export const textOf = (trace, cell) => trace.tokens[cell.id] ?? nameOf(trace.tokens, cell.id);

// The run's output once per run: its cells and their text, decoded as a whole so that a split character stays one.
/** @type {(trace: Trace) => Output} */
export const outputOf = (trace) => {
  const cells = outputCells(trace).filter((cell) => !isEnd(trace, cell));
  return { cells, texts: readable(cells.map((cell) => textOf(trace, cell))) };
};

/** @type {(cell: Cell) => string} */
export const survives = (cell) => {
  if (cell.ratio >= 1) return 'survives always';
  if (cell.ratio === 0) return 'survives never';
  return `survives ${finePercent(cell.ratio)}`;
};

/** @type {(cell: Weight) => number} */
export const chanceOf = (cell) => Math.min(1, cell.p / cell.q);

// Coin and chance with as many digits as it takes to see which is the smaller.
/** @type {(cell: Draft | Cell) => string[]} */
export const coinTexts = (cell) => apart(cell.coin, chanceOf(cell));

// Which of the models has no memory that can be cut back, and what that costs; nothing where both have one.
/** @type {(trace: Trace) => string} */
export const rereadWords = ({ weights }) => {
  const [target, draft] = [weights?.target, weights?.draft].map((side) => side?.cache === 'recompute');
  if (!target && !draft) return '';
  const which = target && draft ? 'both models’ memory' : target ? 'the target’s memory' : 'the draft’s memory';
  return `${which} can’t be cut back, so each pass reads the whole text again`;
};

/** @type {(trace: Trace) => boolean} */
export const isGreedy = (trace) => trace.settings.temperature < 1e-6;

/** @type {(step: Step) => number} */
export const acceptedIn = (step) => step.drafts.filter((draft) => draft.state === 'accepted').length;

/** @type {(a: {id: number}[], b: {id: number}[]) => ?number} */
export const firstDifference = (a, b) => {
  const at = a.findIndex((cell, i) => cell.id !== b[i]?.id);
  return at >= 0 ? at : a.length < b.length ? a.length : null;
};

/** @type {(step: Step) => number} */
export const gainOf = (step) => cellsOf(step).filter(inOutput).length;
