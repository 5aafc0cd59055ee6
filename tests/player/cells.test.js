import assert from 'node:assert/strict';
import test from 'node:test';

import * as cells from '../../assets/player/run/cells.js';
import { stepOf, traceOf } from './traces.js';

test('a step as cells: places, and ratios, but for what no coin was tossed for', () => {
  const found = cells.cellsOf(stepOf('ARD', 'residual', 2));
  assert.deepEqual(found.map(({ step, position, state }) => [step, position, state]), [
    [2, 1, 'accepted'], [2, 2, 'rejected'], [2, 3, 'discarded'], [2, 2, 'residual'],
  ]);
  assert.deepEqual(found.slice(0, 3).map(({ ratio, p }) => [ratio, p]), [[0.3 / 0.4, 0.3], [0.1 / 0.4, 0.1], [null, 0.2]]);
  assert.deepEqual(found.map(cells.isFinal), [false, false, false, true]);
  assert.deepEqual(found.map(cells.inOutput), [true, false, false, true]);
});

test('a last token was drawn with p, or with its share of what was owed', () => {
  const share = (change, letters = 'R') => {
    const step = stepOf(letters, 'residual');
    Object.assign(step.final, change);
    return cells.finalsOf(step)[0].share;
  };
  assert.equal(share({}), (0.5 - 0.25) / 0.5);
  assert.equal(share({ q: 0.9 }), 0);
  assert.equal(share({ fallback: true }), 0.5);
  assert.equal(share({ kind: 'bonus' }), 0.5);
});

test('a deliberate mistake may give a second last token; a step without drafts ends in the target’s own', () => {
  const step = { ...stepOf('A', 'bonus'), extra: stepOf('', 'bonus').final };
  assert.deepEqual(cells.finalsOf(step).map((cell) => cell.position), [2, 3]);
  const [alone] = cells.finalsOf(stepOf('', 'bonus'));
  assert.equal(cells.stateOf(alone).word, "the target's own draw");
  assert.equal(cells.stateOf(cells.finalsOf(stepOf('A', 'bonus'))[0]).word, 'bonus');
});

test('the output leaves out the end token and joins a character that two tokens share', () => {
  const trace = traceOf(['AA', 'bonus'], ['A', 'bonus']);
  trace.tokens = { 1: 'a', 2: '\udcc3', 9: '\udca9' };
  trace.settings.end_ids = [4];
  const { cells: kept, texts } = cells.outputOf(trace);
  assert.deepEqual(kept.map((cell) => cell.id), [1, 2, 9, 1, 9]);
  assert.equal(texts.length, 5);
  assert.equal(texts.slice(0, 3).join(''), 'aé');
  trace.settings.end_ids = [9];
  assert.deepEqual(cells.outputOf(trace).cells.map((cell) => cell.id), [1, 2, 1]);
});

test('how likely a draft survives, in words', () => {
  const said = [1.5, 1, 0, 0.5, 0.994, 0.9951, 0.004].map((ratio) => cells.survives({ ratio }));
  assert.deepEqual(said, [
    'survives always', 'survives always', 'survives never', 'survives 50 %', 'survives 99 %', 'survives 99.5 %', 'survives 0.4 %',
  ]);
});

test('chances, coins, whose coin it was', () => {
  assert.equal(cells.chanceOf({ p: 0.6, q: 0.3 }), 1);
  assert.deepEqual(cells.coinTexts({ p: 0.5, q: 1, coin: 0.4999 }), ['0.4999', '0.5000']);
  assert.deepEqual([0, 0.5, 1, 2].map((ratio) => cells.coinMatters({ ratio })), [false, true, false, false]);
  assert.deepEqual([cells.coinName({}), cells.coinName({ by: 'class' })], ['coin', 'class coin']);
});

test('a model whose memory can’t be cut back is named', () => {
  const said = (target, draft) => cells.rereadWords({ weights: { target: { cache: target }, draft: draft && { cache: draft } } });
  const rest = ' memory can’t be cut back, so each pass reads the whole text again';
  assert.deepEqual([said('rollback', 'rollback'), said('rollback', null), cells.rereadWords({ weights: null })], ['', '', '']);
  assert.equal(said('recompute', null), `the target’s${rest}`);
  assert.equal(said('rollback', 'recompute'), `the draft’s${rest}`);
  assert.equal(said('recompute', 'recompute'), `both models’${rest}`);
});

test('of a run: greedy, where two differ, what a step gave, the plain loop’s milliseconds', () => {
  const trace = traceOf(['AA', 'bonus'], ['AR', 'residual']);
  assert.equal(cells.isGreedy(trace), false);
  assert.equal(cells.isGreedy({ settings: { temperature: 0 } }), true);
  assert.deepEqual(trace.steps.map(cells.gainOf), [3, 2]);
  assert.deepEqual(trace.steps.map(cells.acceptedIn), [2, 1]);
  const ids = (...list) => list.map((id) => ({ id }));
  assert.equal(cells.firstDifference(ids(1, 2, 3), ids(1, 5, 3)), 1);
  assert.equal(cells.firstDifference(ids(1, 2), ids(1, 2, 3)), 2);
  assert.equal(cells.firstDifference(ids(1, 2), ids(1, 2)), null);
});
