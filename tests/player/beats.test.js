import assert from 'node:assert/strict';
import test from 'node:test';

import * as clock from '../../assets/player/run/beats.js';
import { cellsOf } from '../../assets/player/run/cells.js';
import { traceOf } from './traces.js';

const THREE = traceOf(['AR', 'residual'], ['AA', 'bonus'], ['RD', 'residual']);
const names = (trace) => clock.clockOf(trace).beats.map((beat) => beat.name);

const stops = (trace, speed) => {
  const c = clock.clockOf(trace);
  const seen = [c.beats[0].name];
  for (let at = 0; at < c.beats.length - 1;) {
    at = clock.nextStop(c, at, speed, 1);
    seen.push(c.beats[at].name);
  }
  return seen;
};

const REJECTED = [
  '1.start', '1.draft.1', '1.draft.2', '1.draft.3', '1.verify', '1.threshold.1', '1.coin.1', '1.threshold.2',
  '1.coin.2', '1.owed', '1.draw',
];

for (const [letters, final, expected] of [
  ['ARD', 'residual', REJECTED],
  ['A', 'bonus', ['1.start', '1.draft.1', '1.verify', '1.threshold.1', '1.coin.1', '1.draw']],
  ['AD', null, ['1.start', '1.draft.1', '1.draft.2', '1.verify', '1.threshold.1', '1.coin.1']],
  ['', 'bonus', ['1.start', '1.verify', '1.draw']],
]) {
  test(`the beats of ${letters || 'a step without drafts'} have names in order, and slow stops at each`, () => {
    assert.deepEqual(names(traceOf([letters, final])), expected);
    assert.deepEqual(stops(traceOf([letters, final]), 'slow'), expected);
  });
}

test('normal takes all drafts at once and one beat a coin', () => {
  const trace = traceOf(['ARD', 'residual']);
  assert.deepEqual(stops(trace, 'normal'), ['1.start', '1.draft.3', '1.verify', '1.coin.1', '1.coin.2', '1.owed', '1.draw']);
  assert.deepEqual(stops(THREE, 'normal').filter((name) => name.startsWith('2.')), [
    '2.draft.2', '2.verify', '2.coin.1', '2.coin.2', '2.draw',
  ]);
});

test('step stops at the end of each step, forwards and back', () => {
  assert.deepEqual(stops(THREE, 'step'), ['1.start', '1.draw', '2.draw', '3.draw']);
  const c = clock.clockOf(THREE);
  assert.equal(c.beats[clock.nextStop(c, c.ends[2] + 2, 'step', -1)].name, '2.draw');
  assert.equal(clock.nextStop(c, c.beats.length - 1, 'slow', 1), c.beats.length - 1);
});

test('a beat that this run lacks leads to the end of its step, or of the run', () => {
  const c = clock.clockOf(THREE);
  const found = (name) => { const at = clock.indexOfBeat(c, name); return at === null ? null : c.beats[at].name; };
  const cases = { '2.verify': '2.verify', '2.coin.9': '2.draw', '9.start': '3.draw', x: null, '2.nothing': null, '2.draft.1<': null };
  for (const [asked, expected] of Object.entries(cases)) assert.equal(found(asked), expected, asked);
  assert.equal(found(null), null);
  assert.equal(clock.indexOfBeat(clock.clockOf(traceOf()), '1.start'), null);
});

test('each beat reveals no more than its part', () => {
  const [step] = traceOf(['ARD', 'residual']).steps;
  const stages = Object.fromEntries(clock.beatsOfStep(step).map((beat) => [
    beat.name, [1, 2, 3].map((i) => clock.stageOf(step, clock.viewOf(step, beat), i)).join(' '),
  ]));
  assert.deepEqual(stages, {
    '1.start': 'empty empty empty', '1.draft.1': 'drafted empty empty', '1.draft.2': 'drafted drafted empty',
    '1.draft.3': 'drafted drafted drafted', '1.verify': 'verified verified verified', '1.threshold.1': 'threshold verified verified',
    '1.coin.1': 'decided verified verified', '1.threshold.2': 'decided threshold verified', '1.coin.2': 'decided decided decided',
    '1.owed': 'decided decided decided', '1.draw': 'decided decided decided',
  });
  assert.deepEqual(clock.viewOf(step, { kind: 'owed', position: null }), {
    drafted: 3, verified: true, threshold: null, decided: 2, owed: true, drawn: false, walked: true,
  });
});

test('a cell is told up to its own kind of beat', () => {
  const [step] = traceOf(['ARD', 'residual']).steps;
  const [first, , third, last] = cellsOf(step);
  const told = (kind, position, cell) => clock.kindOf(step, clock.viewOf(step, { kind, position }), cell);
  assert.deepEqual([told('threshold', 1, first), told('coin', 1, first), told('coin', 1, third)], ['threshold', 'coin', 'verify']);
  assert.deepEqual([told('draft', 3, last), told('coin', 1, last), told('draw', null, last)], ['start', 'verify', 'draw']);
});

test('a beat is about its draft, the rejected one, or the last token', () => {
  const [step] = traceOf(['ARD', 'residual']).steps;
  const about = clock.beatsOfStep(step).map((beat) => clock.cellOfBeat(step, beat).position);
  assert.deepEqual(about, [1, 1, 2, 3, 1, 1, 1, 2, 2, 2, 2]);
  assert.equal(clock.cellOfBeat(step, { kind: 'draw' }).state, 'residual');
});

test('counts are of what has been revealed', () => {
  const c = clock.clockOf(THREE);
  const counts = c.beats.map((_, at) => clock.countsAt(c, at));
  assert.deepEqual(counts[0], { accepted: 0, rejected: 0, discarded: 0, residual: 0, bonus: 0, alone: 0, tokens: 0, passes: 0 });
  assert.deepEqual(counts.at(-1), { accepted: 3, rejected: 2, discarded: 1, residual: 2, bonus: 1, alone: 0, tokens: 6, passes: 3 });
  const at = c.beats.findIndex((beat) => beat.name === '2.coin.1');
  assert.deepEqual(counts[at], { accepted: 2, rejected: 1, discarded: 0, residual: 1, bonus: 0, alone: 0, tokens: 3, passes: 2 });
  for (const name of Object.keys(counts[0])) counts.slice(1).forEach((now, i) => assert.ok(counts[i][name] <= now[name], name));
});

test('the next of a kind starts again at the end', () => {
  const c = clock.clockOf(traceOf(['AA', 'bonus'], ['AR', 'residual'], ['AA', 'bonus'], ['', 'bonus']));
  const walk = (state, times) => {
    const seen = [];
    for (let at = 0; seen.length < times;) { at = clock.nextOfState(c, at, state); seen.push(c.beats[at].name); }
    return seen;
  };
  assert.deepEqual(walk('bonus', 4), ['1.draw', '3.draw', '1.draw', '3.draw']);
  assert.deepEqual(walk('rejected', 2), ['2.coin.2', '2.coin.2']);
  assert.deepEqual(walk('alone', 1), ['4.draw']);
  assert.equal(clock.nextOfState(c, 0, 'discarded'), null);
});

test('a cell’s fate is told at its coin, at the draw, or where the walk ends', () => {
  const c = clock.clockOf(traceOf(['ARD', 'residual'], ['AD', null]));
  const told = (step, i) => c.beats[clock.beatOfCell(c, cellsOf(c.steps[step])[i])].name;
  assert.deepEqual([0, 1, 2, 3].map((i) => told(1, i)), ['1.coin.1', '1.coin.2', '1.coin.2', '1.draw']);
  assert.equal(told(2, 1), '2.coin.1');
});

test('beats in words, and the beat of a moved number', () => {
  assert.deepEqual(clock.beatsOfStep(traceOf(['R', 'residual']).steps[0]).map(clock.beatWords), [
    'the start', 'draft 1', 'the target pass', 'threshold 1', 'coin 1', 'what is owed', 'the draw',
  ]);
  assert.deepEqual(['accept', 'draft', 'final'].map((purpose) => clock.beatOfMove({ step: 3, position: 2, purpose })), [
    '3.coin.2', '3.draft.2', '3.draw',
  ]);
});
