// Predict first, from the visitor's side: answering, guessing, throwing the class's coin, switching it on and off.

import { coinOfDigits, NO_COIN } from '../run/score.js';
import { tell } from '../state/changes.js';
import { part } from '../state/host.js';
import { goToCoin, stopPlaying } from '../state/moves.js';
import { canThrow, game, predicting, questionNow, remind } from '../state/reveal.js';
import { atEnd, hasBeats, state } from '../state/state.js';

/** @import { Call } from '../run/types.js' */

/** @type {(call: Call) => void} */
export const answer = (call) => {
  const asked = questionNow();
  if (!asked?.open || asked.way === 'chance') return;
  game().calls.set(asked.key, call);
  predicting.notice = '';
  if (predicting.classThrows && canThrow()) tell('answer');
  else goToCoin();
};

const guess = (percent) => {
  const asked = questionNow();
  if (!asked?.open || asked.way !== 'chance') return;
  game().guesses.set(asked.key, percent);
  predicting.notice = '';
  tell('answer');
};

const throwDigits = (text) => {
  const asked = questionNow();
  const coin = coinOfDigits(text);
  if (coin === null) remind(NO_COIN);
  else if (asked && !asked.open) {
    game().coins.set(asked.key, coin);
    goToCoin();
  }
};

const askFor = (way) => {
  predicting.way = way;
  tell('answer');
};

const setClassThrows = (on) => {
  predicting.classThrows = on;
  tell('answer');
};

// What has been seen is not asked about; from the end one begins again.
/** @type {(on: boolean) => void} */
export const setPredicting = (on) => {
  if (on === predicting.on) return;
  stopPlaying();
  Object.assign(predicting, { on, notice: '' });
  if (on && hasBeats()) {
    state.following = false;
    if (atEnd() && !state.live) state.at = 0;
    game().reached = state.at;
  }
  tell('predicting');
};

// --- the panel --------------------------------------------------------------------------------------------------------------

const pressInPanel = (event) => {
  const on = (name) => event.target.closest(`[data-${name}]`)?.dataset[name];
  if (on('call')) answer(on('call'));
  else if (on('guess') !== undefined) guess(Number(part('predict').querySelector('.sv-guess').value));
  else if (on('throw') !== undefined) throwDigits(part('predict').querySelector('.sv-digits').value);
  else if (on('way')) askFor(on('way'));
  else if (on('classcoin') !== undefined) setClassThrows(!predicting.classThrows);
};

// In a field Enter answers.
const enterInPanel = (event) => {
  if (event.key !== 'Enter' || !event.target.matches('input')) return;
  event.preventDefault();
  part('predict').querySelector('.sv-answer')?.click();
};

export const listenToPanel = () => {
  part('predict').addEventListener('click', pressInPanel);
  part('predict').addEventListener('keydown', enterInPanel);
};
