import assert from 'node:assert/strict';
import test from 'node:test';

import * as mass from '../../assets/player/run/mass.js';
import { sumOf } from '../../assets/player/run/numbers.js';

const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);
const ROW = { ids: [4, 7, 9], p: [0.5, 0.25, 0.0625], q: [0.25, 0.5, 0.125], p_rest: 0.1875, q_rest: 0.125, overlap_rest: 0.125 };

test('a lane is what both laws give, what is owed, and what is drafted too often', () => {
  const lanes = mass.lanesOf(ROW, [9], 2);
  assert.deepEqual(lanes.map((lane) => lane.id), [9, 4, null]);
  assert.deepEqual(lanes[1], { id: 4, p: 0.5, q: 0.25, both: 0.25, owed: 0.25, over: 0, raw: null });
  assert.deepEqual(lanes[2], { id: null, p: 0.4375, q: 0.625, both: 0.375, owed: 0.0625, over: 0.25, raw: null });
});

test('lanes add up to both laws; a second token that must be seen comes last', () => {
  const lanes = mass.lanesOf(ROW, [7, 9], 3);
  assert.deepEqual(lanes.map((lane) => lane.id), [7, 4, 9, null]);
  for (const law of ['p', 'q']) near(sumOf(lanes.map((lane) => lane[law])), 1);
  near(sumOf(lanes.map((lane) => lane.both)), 0.6875);
});

test('what the rest delivers is never more than either law gives it', () => {
  const [rest] = mass.lanesOf({ ids: [], p: [], q: [], p_rest: 0.125, q_rest: 0.25, overlap_rest: 0.1875 }, [], 0);
  assert.deepEqual(rest, { id: null, p: 0.125, q: 0.25, both: 0.125, owed: 0, over: 0.125, raw: null });
});

test('before the target’s pass lanes are in the order of q alone', () => {
  const row = { ...ROW, p: [0, 0, 0.8], q: [0.1, 0.5, 0.2] };
  assert.deepEqual(mass.lanesOf(row, [4], 3, true).map((lane) => lane.id), [4, 7, 9, null]);
  assert.deepEqual(mass.lanesOf(row, [4], 3).map((lane) => lane.id), [4, 9, 7, null]);
});

test('the axis fits the tokens, and the rest may be cut', () => {
  const lanes = mass.lanesOf(ROW, [4], 3);
  assert.equal(mass.axisOf(lanes, false), 0.5);
  assert.equal(mass.axisOf(lanes.slice(3), false), 0.05);
  assert.equal(mass.axisOf([{ id: 1, p: 0.1, q: 0, raw: { p: 0.6, q: 0 } }], true), 1);
  assert.equal(mass.axisOf([{ id: 1, p: 0.1, q: 0, raw: { p: 0.6, q: 0 } }], false), 0.1);
});

test('replacing from p itself is off by a bounded amount', () => {
  const [least, most] = mass.offBy(ROW, 0.3125);
  // Too much: 7 gets 0.25 + 0.3125·0.25 for p 0.25, 9 gets 0.0625 + 0.3125·0.0625; 4 stays below its p.
  near(least, 0.3125 * 0.25 + 0.3125 * 0.0625);
  near(most, 0.3125 * 0.25 + 0.3125 * 0.0625 + 0.125 * 0.3125);
  near(mass.fromP({ both: 0.25, p: 0.5 }, 0.5), 0.5);
});

test('what a last token was drawn from, as pieces in the order of the draw', () => {
  const row = { ...ROW, low: [0.5, 0.9, 0] };
  const final = { kind: 'residual', id: 4, mass: 0.25, low: 0.25, high: 1 };
  assert.deepEqual(mass.piecesOf(row, final), [{ id: 4, low: 0.25, high: 1 }]);
  const bonus = mass.piecesOf(row, { kind: 'bonus', id: 9, low: 0, high: 0.0625 });
  assert.deepEqual(bonus, [{ id: 9, low: 0, high: 0.0625 }, { id: 4, low: 0.5, high: 1 }, { id: 7, low: 0.9, high: 1 }]);
});

test('p itself as pieces: largest first, the rest left out', () => {
  const pieces = mass.piecesOfP([{ id: 4, p: 0.5 }, { id: 7, p: 0 }, { id: 9, p: 0.25 }, { id: null, p: 0.25 }]);
  assert.deepEqual(pieces, [{ id: 4, low: 0, high: 0.5 }, { id: 9, low: 0.5, high: 0.75 }]);
});

test('a thousand throws: the same press gives the same, and only what is owed gives p', () => {
  const lanes = mass.lanesOf(ROW, [4], 3);
  assert.deepEqual(mass.throwDice(lanes, true, 3), mass.throwDice(lanes, true, 3));
  assert.notDeepEqual(mass.throwDice(lanes, true, 3), mass.throwDice(lanes, true, 4));
  const share = (fromOwed, seed) => mass.countByLane(mass.throwDice(lanes, fromOwed, seed), lanes)[0] / mass.THROWS;
  const mean = (fromOwed) => sumOf(Array.from({ length: 20 }, (_, seed) => share(fromOwed, seed))) / 20;
  assert.equal(mass.throwDice(lanes, true, 1).length, 1000);
  assert.ok(Math.abs(mean(true) - 0.5) < 0.012);
  assert.ok(Math.abs(mean(false) - (0.25 + 0.3125 * 0.5)) < 0.012);
});
