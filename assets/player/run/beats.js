// The clock: a run as a list of named beats, and what each beat has revealed. Pure functions; nothing here draws.

import { cellsOf, inOutput, isFinal } from './cells.js';

/** @import { Address, Beat, Cell, Clock, Counts, Draft, Kind, Speed, Spot, Stage, Step, Trace, View } from './types.js' */

export const PAUSES = { slow: 1100, normal: 900, step: 1000 }; // milliseconds a beat stands while playing

export const READING = 4200; // milliseconds for a caption

const makeBeat = (step, kind, position = null) => ({
  step,
  kind,
  position,
  name: position === null ? `${step}.${kind}` : `${step}.${kind}.${position}`,
});

/** @type {(draft: Draft) => boolean} */
export const wasExamined = (draft) => draft.coin !== null && draft.state !== 'discarded';

// Every beat of one step, in order. Positions count from 1.
/** @type {(step: Step) => Beat[]} */
export const beatsOfStep = (step) => {
  const { step: n, drafts, final } = step;
  const beats = [makeBeat(n, 'start'), ...drafts.map((_, i) => makeBeat(n, 'draft', i + 1)), makeBeat(n, 'verify')];
  drafts.forEach((draft, i) => {
    if (wasExamined(draft)) beats.push(makeBeat(n, 'threshold', i + 1), makeBeat(n, 'coin', i + 1));
  });
  if (final?.kind === 'residual') beats.push(makeBeat(n, 'owed'));
  if (final) beats.push(makeBeat(n, 'draw'));
  return beats;
};

const isStop = (clock, at, speed) => {
  const { step, kind, position } = clock.beats[at];
  if (speed === 'slow' || at === 0) return true;
  if (speed === 'step') return at === clock.ends[step];
  if (kind === 'draft') return position === clock.steps[step].drafts.length;
  return kind !== 'start' && kind !== 'threshold';
};

const NO_COUNTS = { accepted: 0, rejected: 0, discarded: 0, residual: 0, bonus: 0, alone: 0, tokens: 0, passes: 0 };

// A whole run's clock: its beats, where each step starts and ends in them, and what the steps before each step gave.
/** @type {(trace: Trace) => Clock} */
export const clockOf = (trace) => {
  const clock = { beats: [], steps: {}, starts: {}, ends: {}, before: {}, order: trace.steps.map((step) => step.step) };
  let counts = NO_COUNTS;
  trace.steps.forEach((step) => {
    clock.steps[step.step] = step;
    clock.starts[step.step] = clock.beats.length;
    clock.before[step.step] = counts;
    clock.beats.push(...beatsOfStep(step));
    clock.ends[step.step] = clock.beats.length - 1;
    counts = addCounts(counts, cellsOf(step));
  });
  return clock;
};

const addCounts = (counts, cells) => {
  const sum = { ...counts, passes: counts.passes + 1 };
  cells.forEach((cell) => {
    sum[cell.alone ? 'alone' : cell.state] += 1;
    if (inOutput(cell)) sum.tokens += 1;
  });
  return sum;
};

/** @type {(clock: Clock, at: number, speed: Speed, direction: number) => number} */
export const nextStop = (clock, at, speed, direction) => {
  for (let i = at + direction; i >= 0 && i < clock.beats.length; i += direction) if (isStop(clock, i, speed)) return i;
  return direction > 0 ? clock.beats.length - 1 : 0;
};

// Where a beat's name leads in this run; a beat that this run lacks leads to the end of its step, or of the run.
/** @type {(clock: Clock, name: ?string) => ?number} */
export const indexOfBeat = (clock, name) => {
  const [, number] = /^(\d+)\.(?:start|draft|verify|threshold|coin|owed|draw)(?:\.\d+)?$/.exec(name ?? '') ?? [];
  if (number === undefined || clock.beats.length === 0) return null;
  const exact = clock.beats.findIndex((beat) => beat.name === name);
  return exact >= 0 ? exact : clock.ends[number] ?? clock.beats.length - 1;
};

// What of a step is on view at one of its beats: how many drafts, whether p, which ruler, how many coins, and the end.
/** @type {(step: Step, beat: Beat) => View} */
export const viewOf = (step, beat) => {
  const { kind, position } = beat;
  const examined = step.drafts.filter(wasExamined).length;
  const over = kind === 'owed' || kind === 'draw';
  const tossing = kind === 'threshold' || kind === 'coin';
  return {
    drafted: kind === 'start' ? 0 : kind === 'draft' ? position : step.drafts.length,
    verified: kind === 'verify' || tossing || over,
    threshold: kind === 'threshold' ? position : null,
    decided: over ? examined : tossing ? position - (kind === 'threshold') : 0,
    owed: over && step.final?.kind === 'residual',
    drawn: kind === 'draw',
    walked: over || (kind === 'coin' && position === examined),
  };
};

// How much of a draft slot is on view: empty, drafted, verified, threshold or decided.
/** @type {(step: Step, view: View, position: number) => Stage} */
export const stageOf = (step, view, position) => {
  const draft = step.drafts[position - 1];
  if (position > view.drafted) return 'empty';
  if (wasExamined(draft) ? position <= view.decided : view.walked) return 'decided';
  if (view.threshold === position) return 'threshold';
  return view.verified ? 'verified' : 'drafted';
};

const KIND_OF_STAGE = { empty: 'start', drafted: 'draft', verified: 'verify', threshold: 'threshold', decided: 'coin' };

// The kind of beat up to which a cell of a step has been told, as the inspector names it.
/** @type {(step: Step, view: View, cell: Cell) => Kind} */
export const kindOf = (step, view, cell) => {
  if (view.drawn) return 'draw';
  if (view.owed) return 'owed';
  if (isFinal(cell)) return view.verified ? 'verify' : 'start';
  return KIND_OF_STAGE[stageOf(step, view, cell.position)];
};

// The cell that a beat is about.
/** @type {(step: Step, beat: {kind: Kind, position?: ?number}) => Cell | undefined} */
export const cellOfBeat = (step, beat) => {
  const cells = cellsOf(step);
  const final = cells.find((cell) => isFinal(cell));
  const rejected = cells.find((cell) => cell.state === 'rejected');
  if (beat.kind === 'owed') return rejected ?? final;
  if (beat.kind === 'draw') return final;
  return cells[(beat.position ?? 1) - 1] ?? final;
};

// The cells of a step whose fate is on view.
/** @type {(step: Step, view: View) => Cell[]} */
export const settledCells = (step, view) =>
  cellsOf(step).filter((cell) => (isFinal(cell) ? view.drawn : stageOf(step, view, cell.position) === 'decided'));

// Counts of everything revealed up to a beat, its step as it is shown there. A pass counts once it has been made.
/** @type {(clock: Clock, at: number, step?: Step) => Counts} */
export const countsAt = (clock, at, step = clock.steps[clock.beats[at].step]) => {
  const beat = clock.beats[at];
  const view = viewOf(step, beat);
  const before = clock.before[beat.step];
  const now = addCounts(before, settledCells(step, view));
  return { ...now, passes: before.passes + (view.verified ? 1 : 0) };
};

// The beat at which the next cell of a state appears, after a beat; from the start again where none follows.
/** @type {(clock: Clock, at: number, state: string) => ?number} */
export const nextOfState = (clock, at, state) => {
  const appears = clock.order.flatMap((number) =>
    cellsOf(clock.steps[number])
      .filter((cell) => (cell.alone ? 'alone' : cell.state) === state)
      .map((cell) => beatOfCell(clock, cell)),
  );
  return appears.find((index) => index > at) ?? appears[0] ?? null;
};

// The beat at which a cell's fate is told.
/** @type {(clock: Clock, cell: Spot) => number} */
export const beatOfCell = (clock, cell) => {
  const { step: number, position, state } = cell;
  const step = clock.steps[number];
  const wanted = (beat) => {
    if (state === 'residual' || state === 'bonus') return beat.kind === 'draw';
    if (state === 'discarded') return beat.kind === 'coin' && viewOf(step, beat).walked;
    return beat.kind === 'coin' && beat.position === position;
  };
  const offset = beatsOfStep(step).findIndex(wanted);
  return offset < 0 ? clock.ends[number] : clock.starts[number] + offset;
};

// --- a beat by another name

const BEAT_WORDS = {
  start: () => 'the start',
  draft: ({ position }) => `draft ${position}`,
  verify: () => 'the target pass',
  threshold: ({ position }) => `threshold ${position}`,
  coin: ({ position }) => `coin ${position}`,
  owed: () => 'what is owed',
  draw: () => 'the draw',
};

/** @type {(beat: Beat) => string} */
export const beatWords = (beat) => BEAT_WORDS[beat.kind](beat);

/** @type {(address: Address) => string} */
export const beatOfMove = ({ step, position, purpose }) =>
  ({ accept: `${step}.coin.${position}`, draft: `${step}.draft.${position}`, final: `${step}.draw` })[purpose];
