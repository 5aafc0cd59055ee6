// A message arrives: a whole run, the steps of one that is being made, or the other run of a comparison.

import { indexOfBeat } from '../run/beats.js';
import { comparison, noteMessage, onScreenOf } from '../state/branches.js';
import { announce, messageNow } from '../state/bridge.js';
import { tell } from '../state/changes.js';
import { part, root } from '../state/host.js';
import { linkedBeat } from '../state/link.js';
import { goTo, takeMessage } from '../state/moves.js';
import { noteReached } from '../state/reveal.js';
import { atEnd, currentBeat, hasBeats, lastBeat, state } from '../state/state.js';
import { drawBeat, drawFigures, drawSkylineNow, drawWithoutSteps } from '../draw/beat.js';
import { drawControls } from '../draw/controls.js';
import { drawHeading } from '../draw/grid.js';
import { proposeLinked, takeBranch } from './branch.js';
import { askedBeat } from './learn.js';
import { presentIfLinked } from './present.js';
import { noteRace, openRaceOnce } from './race.js';

// Whatever was drawn may have changed.
const forgetDrawn = () => ['grid', 'ribbon', 'skyline'].forEach((name) => { part(name).dataset.run = ''; });

const showMessage = (message) => {
  root().dataset.phase = message ? (message.live ? 'live' : 'done') : 'empty';
  if (!message) return;
  takeMessage(message);
  takeBranch(message);
  noteRace(message);
  if (!message.live) forgetDrawn();
  state.at = askedBeat() ?? linkedBeat() ?? state.at;
  proposeLinked();
  drawControls();
  drawHeading(part('heading'), state.trace);
  if (hasBeats()) noteReached(state.at);
  drawSkylineNow();
  drawFigures();
  if (hasBeats()) drawBeat();
  else drawWithoutSteps();
  tell('playing');
  openRaceOnce(message);
  presentIfLinked();
  if (!message.live) announce('run');
};

// Gradio has a new value: the message as JSON.
/** @type {() => void} */
export const receive = () => {
  const message = messageNow();
  if (message) noteMessage(message);
  showMessage(message);
};

// The other run on the same grid, at the beat of the same name.
/** @type {(name: 'original' | 'branch') => void} */
export const showRun = (name) => {
  const pair = comparison();
  if (!pair || state.live || onScreenOf(pair) === name) return;
  const wasAtEnd = atEnd();
  const beat = currentBeat().name;
  showMessage(pair[name]);
  goTo(wasAtEnd ? lastBeat() : indexOfBeat(state.clock, beat));
  part('both').querySelector('[aria-pressed="true"]')?.focus({ preventScroll: true });
};
