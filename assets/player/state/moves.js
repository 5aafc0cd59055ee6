// Moves: whatever changes the run on screen or the place in it. Each says what it changed; whoever draws listens.

import { clockOf, indexOfBeat, nextOfState, nextStop, PAUSES, READING } from '../run/beats.js';
import { tell } from './changes.js';
import { isPresenting } from './modes.js';
import { CALL_FIRST, captionNow, game, isAsking, isPredicting, NO_FARTHER, NO_JUMP, noteReached, predicting } from './reveal.js';
import { questionNow, reach, remind } from './reveal.js';
import { atEnd, atStepEnd, currentBeat, hasBeats, lastBeat, merge, state } from './state.js';

/** @import { Cell, Message, Speed } from '../run/types.js' */

/** @type {(message: Message) => boolean} */
export const takeMessage = (message) => {
  const sameRun = state.trace !== null && state.trace.run_id === message.trace.run_id;
  const name = sameRun && hasBeats() ? currentBeat().name : null;
  state.trace = merge(message);
  state.figures = message.figures ?? null;
  state.live = message.live;
  state.recorded = message.recorded ?? null;
  state.fingerprint = message.fingerprint ?? null;
  state.asked = message.asked ?? {};
  state.noBranch = message.no_branch ?? null;
  state.gallery = message.gallery ?? null;
  state.clock = clockOf(state.trace);
  if (!sameRun)
    Object.assign(state, {
      at: 0,
      playing: false,
      following: (message.live || message.made) && !predicting.on,
      captions: message.recorded?.first ?? false,
      chosen: null,
    });
  if (state.following) state.at = Math.max(0, lastBeat());
  else if (name !== null) state.at = indexOfBeat(state.clock, name) ?? 0;
  if (!message.live) state.following = false;
  return sameRun;
};

/** @type {(index: number) => void} */
export const goTo = (index) => {
  if (!hasBeats()) return;
  const at = Math.max(0, Math.min(index, reach(lastBeat())));
  Object.assign(state, { at, chosen: null, following: state.live && !predicting.on && at === lastBeat() });
  noteReached(at);
  tell('beat');
};

/** @type {() => void} */
export const stopPlaying = () => {
  if (!state.playing) return;
  state.playing = false;
  tell('playing');
};

// A visitor's move ends the play; the play's own moves do not come this way.
/** @type {(index: ?number) => void} */
export const moveTo = (index) => {
  if (index === null) return;
  stopPlaying();
  predicting.notice = index > reach(index) && isAsking() ? NO_FARTHER : '';
  goTo(index);
};

// A beat on from a question goes to its coin, answered or not.
/** @type {(direction: number, speed?: Speed) => void} */
export const moveBy = (direction, speed = state.speed) => {
  if (!hasBeats()) return;
  if (direction > 0 && speed === state.speed && questionNow()) goToCoin();
  else moveTo(nextStop(state.clock, state.at, speed, direction));
};

/** @type {(number: number) => void} */
export const moveToStep = (number) => moveTo(state.clock.ends[number] ?? null);

/** @type {(cellState: string) => void} */
export const moveToNext = (cellState) => {
  if (!hasBeats()) return;
  if (isPredicting()) remind(NO_JUMP);
  else moveTo(nextOfState(state.clock, state.at, cellState));
};

/** @type {(cell: Cell) => void} */
export const moveToCell = (cell) => {
  moveToStep(cell.step);
  choose(cell);
};

/** @type {(cell: Cell) => void} */
export const choose = (cell) => {
  state.chosen = { step: cell.step, position: cell.position, state: cell.state };
  tell('choice');
};

/** @type {(speed: Speed) => void} */
export const setSpeed = (speed) => {
  state.speed = speed;
  tell('playing');
};

/** @type {() => void} */
export const togglePlay = () => {
  if (!hasBeats()) return;
  if (!state.playing && isAsking()) {
    remind(CALL_FIRST);
    return;
  }
  state.playing = !state.playing;
  if (state.playing && atEnd() && !state.live) goTo(0);
  tell('playing');
};

/** @type {() => void} */
export const endCaptions = () => {
  state.captions = false;
  tell('line');
};

// What the timer does: one beat on, and the end of the play at the end of the run.
const playOn = () => {
  const next = nextStop(state.clock, state.at, state.speed, 1);
  if (next !== state.at) goTo(next);
  if ((atEnd() && !state.live) || isAsking() || (isPresenting() && atStepEnd())) stopPlaying();
};

// --- playing

let timer = null;

const pauseHere = () => (captionNow()?.beat === currentBeat().name ? READING : PAUSES[state.speed]);

/** @type {() => void} */
export const wind = () => {
  clearTimeout(timer);
  timer = state.playing ? setTimeout(() => { playOn(); wind(); }, pauseHere()) : null;
};

// On to the coin that was asked about.
/** @type {() => void} */
export const goToCoin = () => {
  game().reached = Math.max(game().reached, state.at + 1);
  moveTo(state.at + 1);
};
