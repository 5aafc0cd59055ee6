// What the player shows and where it stands. Nothing here draws, and nothing here tells: `moves.js` changes it and says so.

/** @import { Beat, Message, Trace } from '../run/types.js' */

export const state = {
  trace: null, // the run on screen
  figures: null,
  live: false, // steps are still arriving
  recorded: null, // the gallery's name of the run, and what to look for in it
  fingerprint: null, // a hash of what came out, see fingerprint.py
  asked: {}, // what the controls would hold for the run on screen, by their names; null for what it has not
  noBranch: null, // why the run on screen can't be branched from anywhere, in a sentence
  gallery: null, // the recorded runs' names, titles and fingerprints
  clock: null,
  at: 0, // index of a beat
  speed: 'normal',
  playing: false,
  following: false, // a live run: stand at its newest beat until somebody goes elsewhere
  captions: false, // the opening lesson tells its story until somebody ends it
  chosen: null, // a cell that somebody chose; it stands until the next beat
};

/** @type {() => Beat} */
export const currentBeat = () => state.clock.beats[state.at];

/** @type {() => boolean} */
export const hasBeats = () => state.clock !== null && state.clock.beats.length > 0;

/** @type {() => number} */
export const lastBeat = () => state.clock.beats.length - 1;

/** @type {() => boolean} */
export const atEnd = () => state.at >= lastBeat();

// A live message holds only the latest steps; they join those that came before.
/** @type {(message: Message) => Trace} */
export const merge = (message) => {
  const before = state.trace;
  if (!message.live || !before || before.run_id !== message.trace.run_id) return message.trace;
  const known = new Map([...before.steps, ...message.trace.steps].map((step) => [step.step, step]));
  const steps = [...known.values()].sort((a, b) => a.step - b.step);
  return { ...message.trace, steps, tokens: { ...before.tokens, ...message.trace.tokens } };
};

/** @type {() => boolean} */
export const atStepEnd = () => state.at === state.clock.ends[currentBeat().step];
