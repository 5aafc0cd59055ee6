// Learn asks for a beat of a recorded run, on screen or on its way.

import { indexOfBeat } from '../run/beats.js';
import { announce, heard } from '../state/bridge.js';
import { endCaptions, moveTo } from '../state/moves.js';
import { hasBeats, state } from '../state/state.js';

let asked = null; // {recorded, beat}, until that run is on screen

// The beat that was asked for, in the run on screen; null where that is another run, or nothing was asked. Once it has been drawn,
// whoever asked hears of it.
/** @type {() => ?number} */
export const askedBeat = () => {
  if (!asked || state.live || state.recorded?.name !== asked.recorded) return null;
  const { beat } = asked;
  asked = null;
  setTimeout(() => announce('arrived'));
  return indexOfBeat(state.clock, beat);
};

// Says by `preventDefault` that the run is on screen, so that nobody has to send it.
export const listenToLearn = () => heard('beat', (event) => {
  asked = event.detail;
  const at = hasBeats() ? askedBeat() : null;
  if (at === null) return;
  event.preventDefault();
  endCaptions();
  moveTo(at);
});
