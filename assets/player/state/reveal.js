// What may be seen: the step, cell and caption of the present beat, and, while predicting, only what has been revealed.
//
// "Predict first" asks about every coin before it falls. How far a run has been revealed is one number, `reached`, a beat's index.
// Whoever moves past it, by whatever key, link or click, gets no farther than the next threshold that has not been answered; a
// single beat on from there is a skip, which counts as nothing.

import { beatOfCell, cellOfBeat, indexOfBeat, stageOf, viewOf } from '../run/beats.js';
import { CAPTIONS } from '../run/captions.js';
import { cellsOf, chanceOf, isFinal, isGreedy } from '../run/cells.js';
import { callOf, keyOf, keyOfBeat, scoreOf, stepWithCoin } from '../run/score.js';
import { tell } from './changes.js';
import { currentBeat, hasBeats, lastBeat, state } from './state.js';

/** @import { Call, Cell, Draft, Guess, Kind, Question, Row, Score, Spot, Stage, Step, View } from '../run/types.js' */

// --- the present beat

// A step as it is shown at the present beat, where the class may have thrown a coin of its own.
/** @type {(number: number) => Step} */
export const stepOf = (number) =>
  number === currentBeat().step ? stepShown(state.clock.steps[number], currentBeat()) : state.clock.steps[number];

/** @type {() => Step} */
export const currentStep = () => stepOf(currentBeat().step);

/** @type {() => View} */
export const currentView = () => viewOf(currentStep(), currentBeat());

// The cell that the inspector is about: the chosen one, or the one of the present beat.
/** @type {() => ?Spot} */
export const shownCell = () => state.chosen ?? cellOfBeat(currentStep(), currentBeat());

const LAST_TOLD_STEP = 2; // the story is over after the second step

// The caption that stands at the present beat: the latest one of its step or before, as long as the story lasts.
/** @type {() => ?{beat: string, text: string}} */
export const captionNow = () => {
  if (!state.captions || predicting.on || !hasBeats() || currentBeat().step > LAST_TOLD_STEP) return null;
  return CAPTIONS.filter((caption) => indexOfBeat(state.clock, caption.beat) <= state.at).at(-1) ?? null;
};

// --- predict first

export const predicting = {
  on: false,
  way: 'verdict', // what is asked: the verdict, or the chance of being kept
  classThrows: false, // whether a call is followed by the class's coin instead of the run's
  notice: '', // why the last key or click did less than it says
  games: new Map(), // a run's id to what was called in it
};

const callsIn = (runId) => {
  if (!predicting.games.has(runId)) predicting.games.set(runId, { calls: new Map(), guesses: new Map(), coins: new Map(), reached: 0 });
  return predicting.games.get(runId);
};

/** @type {() => {calls: Map<string, Call>, guesses: Map<string, number>, coins: Map<string, number>, reached: number}} */
export const game = () => callsIn(state.trace.run_id);

// Whether anything is still to be kept back: predicting is on, and the run has not been played to its end.
/** @type {() => boolean} */
export const isPredicting = () => predicting.on && (!hasBeats() || state.live || game().reached < lastBeat());

// What was called in a run: [step, position, "accept" or "reject"] each.
/** @type {(runId: string) => any[][]} */
export const callsOf = (runId) =>
  [...(predicting.games.get(runId)?.calls ?? [])].map(([key, call]) => [...key.split('.').map(Number), call]);

/** @type {(key: string) => boolean} */
export const isAnswered = (key) => game().calls.has(key) || game().guesses.has(key);

/** @type {() => ?number} */
export const nextQuestion = () => {
  const at = state.clock.beats.findIndex((beat, i) => beat.kind === 'threshold' && i >= game().reached && !isAnswered(keyOfBeat(beat)));
  return at < 0 ? null : at;
};

/** @type {(index: number) => number} */
export const reach = (index) => (isPredicting() ? Math.min(index, nextQuestion() ?? lastBeat()) : index);

/** @type {(at: number) => void} */
export const noteReached = (at) => { if (predicting.on) game().reached = Math.max(game().reached, at); };

const isTold = (cell) => beatOfCell(state.clock, cell) <= game().reached;

// The question at the present beat: its coin is still to come. `open` until it is answered.
/** @type {() => ?Question} */
export const questionNow = () => {
  if (!predicting.on || !hasBeats() || currentBeat().kind !== 'threshold' || state.at < game().reached) return null;
  const { step, position } = currentBeat();
  const way = isGreedy(state.trace) ? 'same' : predicting.way;
  return { step, position, way, key: keyOf(step, position), open: !isAnswered(keyOf(step, position)) };
};

/** @type {() => boolean} */
export const isAsking = () => questionNow()?.open ?? false;

export const CALL_FIRST = 'Answer first, or skip this one with →.';

export const NO_JUMP = 'Off while predicting: it would tell what comes next.';

export const NO_FARTHER = 'A jump stops at the next question.';

/** @type {(words: string) => void} */
export const remind = (words) => {
  predicting.notice = words;
  tell('reminder');
};

// --- what stays hidden ----------------------------------------------------------------------------------------------------

// At temperature 0 p is the answer; a guessed chance must not be drawn before it has been guessed.
/** @type {(step: Step, view: View, cell: Cell) => Stage} */
export const stageShown = (step, view, cell) => {
  const stage = stageOf(step, view, cell.position);
  if (!isPredicting() || isTold(cell)) return stage;
  if (isGreedy(state.trace)) return stage === 'empty' ? stage : 'drafted';
  return stage === 'threshold' && isChanceOpen() ? 'verified' : stage;
};

const isChanceOpen = () => isAsking() && questionNow().way === 'chance';

// The same for the inspector: how far a cell's story may be told there.
/** @type {(cell: Cell, kind: Kind) => Kind} */
export const kindShown = (cell, kind) => {
  if (!isPredicting() || isFinal(cell) || isTold(cell)) return kind;
  if (isGreedy(state.trace) && kind !== 'start') return 'draft';
  return kind === 'threshold' && isChanceOpen() ? 'verify' : kind;
};

// A draft that will not be used has less of its laws on record; before that is told, all show what all have.
/** @type {(row: ?Row, cell: Cell, act: string) => ?Row} */
export const rowShown = (row, cell, act) => {
  if (!row || !isPredicting() || !('coin' in cell) || questionNow()?.key === keyOf(cell.step, cell.position)) return row;
  if (isTold(cell)) return row;
  const kept = row.ids.map((_, i) => i).filter((i) => row.q[i] > 0 || (act !== 'draft' && row.p[i] > 0));
  const pick = (name) => kept.map((i) => row[name][i]);
  return {
    ids: pick('ids'),
    p: pick('p'),
    q: pick('q'),
    p_rest: row.p_rest,
    q_rest: row.q_rest,
    overlap_rest: row.overlap_rest,
    short: true,
  };
};

// --- the class's coin -----------------------------------------------------------------------------------------------------

/** @type {() => boolean} */
export const canThrow = () => !isGreedy(state.trace) && !state.trace.settings.fault;

// A step as the page shows it at a beat: with the class's coin in it where one was thrown, at that coin's own beat and nowhere else.
const stepShown = (step, beat) => {
  const u = predicting.on && beat.kind === 'coin' ? game().coins.get(keyOfBeat(beat)) : undefined;
  return u === undefined ? step : stepWithCoin(step, beat.position, u, 'class');
};

// --- the score ------------------------------------------------------------------------------------------------------------

/** @type {(key: string) => {step: Step, position: number, draft: Draft}} */
export const draftAt = (key) => {
  const [step, position] = key.split('.').map(Number);
  return { step: state.clock.steps[step], position, draft: state.clock.steps[step].drafts[position - 1] };
};

// A call is judged by the coin that the class saw.
/** @type {(key: string) => Call} */
export const verdictAt = (key) => {
  const { step, position, draft } = draftAt(key);
  return callOf(game().coins.has(key) ? stepWithCoin(step, position, game().coins.get(key)).drafts[position - 1] : draft);
};

/** @type {(key: string) => boolean} */
export const isKeyTold = (key) => {
  const { step, position } = draftAt(key);
  return isTold(cellsOf(step)[position - 1]);
};

/** @type {() => Score} */
export const score = () => scoreOf([...game().calls].filter(([key]) => isKeyTold(key))
  .map(([key, call]) => ({ call, verdict: verdictAt(key), chance: chanceOf(draftAt(key).draft) })));

/** @type {() => Guess[]} */
export const guesses = () => [...game().guesses].map(([key, percent]) => ({ guess: percent, chance: chanceOf(draftAt(key).draft) }));

/** @type {() => 'same' | 'verdict'} */
export const wayOfCalls = () => (isGreedy(state.trace) ? 'same' : 'verdict');
