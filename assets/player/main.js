// Joins the parts: has drawn what changes, listens to the visitor, and takes the run that the page gives.

import { onTold } from './state/bridge.js';
import { on } from './state/changes.js';
import { readFacts } from './state/facts.js';
import { part, root } from './state/host.js';
import { readLink, writeLink } from './state/link.js';
import { isPhone } from './state/modes.js';
import { wind } from './state/moves.js';
import { predicting } from './state/reveal.js';
import { hasBeats } from './state/state.js';
import { drawBeat, drawInspected, keepInView, resized, sayNow } from './draw/beat.js';
import { drawLine } from './draw/line.js';
import { drawNotes } from './draw/notes.js';
import { drawPredict, sayPrediction } from './draw/predict.js';
import { drawTransport } from './draw/transport.js';
import { receive } from './acts/arrival.js';
import { listenForBranches, readLinkedBranch } from './acts/branch.js';
import { listenToPage, listenToPlayer } from './acts/input.js';
import { listenToLearn } from './acts/learn.js';
import { followLesson } from './acts/lesson.js';
import { listenToPhone } from './acts/phone.js';
import { listenToPanel } from './acts/predict.js';
import { listenToPresenter } from './acts/present.js';
import { listenToRace } from './acts/race.js';
import { listenToShare } from './acts/share.js';

// --- what is drawn when something has changed

const drawNextBeat = () => {
  drawBeat();
  if (isPhone()) keepInView();
  part('aloud').textContent = sayNow();
  writeLink();
};

const playingChanged = () => {
  drawTransport(part('transport'));
  wind();
  writeLink();
};

const answerChanged = () => {
  drawBeat();
  part('aloud').textContent = sayPrediction();
};

const reminded = () => {
  drawPredict();
  part('aloud').textContent = predicting.notice;
};

const sizeChanged = () => {
  if (!hasBeats()) return;
  resized();
  drawBeat();
};

const listenToChanges = () => {
  on('beat', drawNextBeat);
  on('playing', playingChanged);
  on('choice', () => hasBeats() && drawInspected());
  on('line', drawLine);
  on('predicting', () => (hasBeats() ? drawNextBeat() : writeLink()));
  on('answer', answerChanged);
  on('reminder', reminded);
  on('size', sizeChanged);
  new ResizeObserver(resized).observe(part('left'));
};

// --- the start

readFacts();
readLink();
readLinkedBranch();
listenToChanges();
listenToPlayer();
listenToPage();
listenToLearn();
listenToShare();
followLesson();
drawNotes();
listenForBranches();
listenToRace();
listenToPanel();
listenToPresenter();
listenToPhone();
onTold('value', receive);
receive();
root().dataset.ready = '';
