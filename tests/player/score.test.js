import assert from 'node:assert/strict';
import test from 'node:test';

import { endWords, speedWords } from '../../assets/player/draw/endcard.js';
import * as score from '../../assets/player/run/score.js';
import { stepOf, traceOf } from './traces.js';

const CALLS = [
  { call: 'accept', verdict: 'accept', chance: 0.9 },
  { call: 'accept', verdict: 'reject', chance: 0.2 },
  { call: 'reject', verdict: 'accept', chance: 0.4 },
  { call: 'reject', verdict: 'reject', chance: 0.5 },
];

test('calls are scored beside the likelier side', () => {
  assert.deepEqual(score.scoreOf(CALLS), { all: 4, right: 2, likelier: 2, kept: 2 });
  const said = { all: 10, right: 7, likelier: 8, kept: 6 };
  assert.equal(score.scoreWords(said, false), '7 of 10 right; always calling the likelier side would have got 8.');
  assert.equal(score.scoreWords(said, true), '7 of 10 right; always saying “same” would have got 6.');
  assert.equal(score.scoreWords({ ...said, all: 0 }, false), 'No call yet.');
});

test('guesses are scored by distance', () => {
  const guesses = [{ guess: 60, chance: 0.4196 }, { guess: 0, chance: 0.004 }, { guess: 94, chance: 1 }];
  assert.deepEqual(guesses.map(score.guessWords), [
    'You said 60 %, it is 42 %: 18 off.', 'You said 0 %, it is under 1 %: exactly right.', 'You said 94 %, it is 100 %: 6 off.',
  ]);
  assert.equal(score.distanceWords(guesses), '3 guesses, mean distance 8.');
  assert.equal(score.distanceWords(guesses.slice(0, 1)), '1 guess, mean distance 18.');
  assert.equal(score.distanceWords([]), 'No guess yet.');
});

test('two digits are a coin, anything else is none', () => {
  for (const [text, coin] of [['7 1', 0.71], ['71', 0.71], [' 0.71 ', 0.71], ['.05', 0.05], ['0,99', 0.99], ['00', 0]]) {
    assert.equal(score.coinOfDigits(text), coin, text);
  }
  for (const text of ['', '7', '711', 'a1', '1.71', '-7 1', '0.7', '٧١']) assert.equal(score.coinOfDigits(text), null, text);
});

test('another coin decides by the rule and leaves what follows open', () => {
  const step = stepOf('AARD', 'residual');
  const states = (u) => score.stepWithCoin(step, 2, u, 'class').drafts.map((draft) => draft.state);
  assert.deepEqual(states(0.74), ['accepted', 'accepted', 'undecided', 'undecided']);
  assert.deepEqual(states(0.76), ['accepted', 'rejected', 'discarded', 'discarded']);
  Object.assign(step.drafts[1], { p: 0.3, q: 0.6 });
  assert.equal(states(0.5)[1], 'rejected'); // strictly below
  const { coin, by } = score.stepWithCoin(step, 2, 0.25, 'class').drafts[1];
  assert.deepEqual([coin, by, step.drafts[1].coin], [0.25, 'class', 0.5]);
});

test('keys and verdicts', () => {
  assert.equal(score.keyOf(3, 2), '3.2');
  assert.equal(score.keyOfBeat({ step: 3, position: 2, kind: 'coin' }), '3.2');
  assert.deepEqual(['accepted', 'rejected'].map((state) => score.callOf({ state })), ['accept', 'reject']);
});

test('the end in words', () => {
  const trace = traceOf(['AR', 'residual'], ['AA', 'bonus'], ['AA', 'bonus']);
  assert.deepEqual(endWords(trace), ['8 tokens, 3 big passes instead of 8.', 'Best step: 2.']);
  const stopped = { ...traceOf(['R', 'residual']), stop: 'stopped' };
  assert.deepEqual(endWords(stopped), ['1 token, 1 big pass: as many as without a draft.', 'It was stopped by hand.']);
  const alone = traceOf(['', 'bonus']);
  alone.settings.k = 0;
  assert.deepEqual(endWords(alone), ['1 token, 1 big pass: as many as without a draft.', 'Nothing was drafted: K is 0.']);
});

test('the speed is told where it is known, and below one as below one', () => {
  const trace = traceOf(['R', 'residual']);
  trace.settings.pair = 'smollm2-135m';
  const known = { speedup_measured: 0.81, speedup_modelled: 1.31 };
  assert.equal(speedWords(trace, known), 'Measured once, on test: 0.81×, slower than plain decoding: it takes 23 % longer.');
  const modelled = 'From the pair’s timings: 1.31×, faster than plain decoding: it takes 24 % less time.';
  assert.equal(speedWords(trace, { ...known, speedup_measured: null }), modelled);
  assert.equal(speedWords(trace, { speedup_measured: null, speedup_modelled: null }), null);
  assert.equal(speedWords(trace, null), null);
  trace.settings.k = 0;
  assert.match(speedWords(trace, known), /Nothing was drafted, so what parts it from 1 is the price of recording each step\.$/);
  trace.settings.pair = 'toy';
  assert.equal(speedWords(trace, known), null);
});
