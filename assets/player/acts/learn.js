// Learn asks for a beat of a recorded run, on screen or on its way.

import { indexOfBeat } from '../run/beats.js';
import { beatAskedFor, foundBeat, heard } from '../state/bridge.js';
import { endCaptions, moveTo } from '../state/moves.js';
import { hasBeats, state } from '../state/state.js';

// The beat that was asked for, in the run on screen; null where that is another run, or nothing was asked.
/** @type {() => ?number} */
export const askedBeat = () => {
  const asked = beatAskedFor();
  if (!asked || state.live || state.recorded?.name !== asked.recorded) return null;
  foundBeat();
  return indexOfBeat(state.clock, asked.beat);
};

// Says by `preventDefault` that the run is on screen, so that nobody has to send it.
export const listenToLearn = () => heard('beat', (event) => {
  const at = hasBeats() ? askedBeat() : null;
  if (at === null) return;
  event.preventDefault();
  endCaptions();
  moveTo(at);
});
