// The card at the end of a run: what it gave, where it went best, and the way there.

import { gainOf } from '../run/cells.js';
import { count } from '../run/numbers.js';
import { boundsWords, figureWords, roundsWords, speedupOf, gainWords } from '../run/speed.js';
import { distanceWords, scoreWords } from '../run/score.js';
import { part } from '../state/host.js';
import { guesses, predicting, score, wayOfCalls } from '../state/reveal.js';
import { atEnd, hasBeats, state } from '../state/state.js';
import { make, pressable } from './dom.js';

/** @import { Trace } from '../run/types.js' */

const endcard = { closed: false };

// The step that gave most, the first of several; null where no step gave more than one token.
/** @type {(trace: Trace) => ?number} */
export const bestStep = (trace) => {
  const best = trace.steps.reduce((most, step) => (gainOf(step) > gainOf(most) ? step : most));
  return gainOf(best) > 1 ? best.step : null;
};

const passesWords = (tokens, passes) => {
  const counted = `${count(tokens, 'token', 'tokens')}, ${count(passes, 'big pass', 'big passes')}`;
  return tokens === passes ? `${counted}: as many as without a draft.` : `${counted} instead of ${tokens}.`;
};

const EARLY = {
  end: 'It ended with the end token.',
  context: 'It stopped there: the context is full.',
  stopped: 'It was stopped by hand.',
  error: 'It was stopped by an error.',
};

// What the run gave, in sentences.
export const endWords = (trace) => {
  const { tokens, target_passes: passes } = trace.steps.at(-1).totals;
  const best = bestStep(trace);
  return [
    passesWords(tokens, passes), best === null ? null : `Best step: ${best}.`,
    trace.settings.k === 0 ? 'Nothing was drafted: K is 0.' : null, EARLY[trace.stop],
  ].filter(Boolean);
};

// The speed, where it was measured or can be modelled; otherwise nothing.
export const speedWords = (trace, figures) => {
  if (!figures || trace.settings.pair === 'toy') return null;
  const said = (speedup) => `${figureWords(speedup)}${boundsWords(speedup)}, ${gainWords(speedup)}.`;
  const [measured, modelled] = [speedupOf(figures, 'measured'), speedupOf(figures, 'modelled')];
  const without = trace.settings.k === 0 ? ' Nothing was drafted, so what parts it from 1 is the price of recording each step.' : '';
  if (measured) return `Measured ${roundsWords(trace)}${trace.machine ? `, on ${trace.machine}` : ''}: ${said(measured)}${without}`;
  return modelled && `From the pair’s timings: ${said(modelled)}${without}`;
};

const predictedWords = () => {
  const [called, guessed] = [score(), guesses()];
  const words = [
    called.all ? scoreWords(called, wayOfCalls() === 'same') : null,
    guessed.length ? distanceWords(guessed) : null,
  ].filter(Boolean);
  return predicting.on && words.length ? `Your calls: ${words.join(' ')}` : null;
};

const atTheEnd = () => hasBeats() && atEnd() && !state.live;

/** @type {() => boolean} */
export const isCardShown = () => atTheEnd() && !endcard.closed;

/** @type {() => string} */
export const sayEnd = () =>
  isCardShown() ? [...endWords(state.trace), predictedWords(), speedWords(state.trace, state.figures)].filter(Boolean).join(' ') : '';

const cardButton = (does, ...children) => pressable('', 'do', does, ...children);

export const drawEndCard = () => {
  if (!atTheEnd()) endcard.closed = false;
  const place = part('endcard');
  place.hidden = !isCardShown();
  if (place.hidden) return;
  const { trace, figures } = state;
  const [headline, ...rest] = endWords(trace);
  const best = bestStep(trace);
  const close = cardButton('closecard', '✕');
  close.setAttribute('aria-label', 'close this card');
  close.title = 'close (Esc)';
  place.replaceChildren(
    make('div', 'sv-endwords', make('p', 'sv-endline', make('b', '', headline), ...rest.map((each) => ` ${each}`)),
      ...[predictedWords(), speedWords(trace, figures)].filter(Boolean).map((each) => make('p', '', each))),
    make('div', 'sv-endways', best === null ? null : cardButton('best', `go to step ${best}`), cardButton('replay', 'replay'), close));
};

// Returns whether there was a card to close.
/** @type {() => boolean} */
export const closeEndCard = () => {
  if (part('endcard').hidden) return false;
  endcard.closed = true;
  drawEndCard();
  return true;
};
