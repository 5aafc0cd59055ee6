// A speedup is called faster or slower only where its bounds leave no other answer, and nothing where it is in doubt.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boundsWords, comparedBetween, figureWords, gainWords, hundredths, roundsWords, speedupOf, stepTimes,
} from '../../assets/player/run/speed.js';
import { traceOf } from './traces.js';

const figures = (value, low, high, doubt = null) => ({
  speedup_measured: value, speedup_measured_low: low, speedup_measured_high: high, speedup_measured_doubt: doubt, speedup_modelled: null,
});

test('bounds decide whether it was faster', () => {
  const of = (...given) => speedupOf(figures(...given), 'measured');
  assert.equal(speedupOf(figures(1.2, 1.1, 1.3), 'modelled'), null);
  assert.match(comparedBetween(of(1.25, 1.1, 1.3)), /^faster than plain decoding: it takes 20 % less/);
  assert.match(comparedBetween(of(0.8, 0.7, 0.9)), /^slower than plain decoding: it takes 25 % longer/);
  assert.equal(comparedBetween(of(1.05, 0.98, 1.1)), 'as fast as plain decoding, for all that was measured');
  assert.equal(comparedBetween(of(0.97, 0.9, 1.02)), 'as fast as plain decoding, for all that was measured');
  assert.equal(boundsWords(of(1.25, 1.1, 1.3)), ' (1.10 to 1.30)');
  assert.equal(boundsWords(of(1.25, null, null)), '');
});

test('no figure below 1 is written as 1.00', () => {
  assert.deepEqual([0.994, 0.9971, 0.99996, 1, 1.004, 0].map(hundredths), ['0.99', '0.997', '0.99996', '1.00', '1.00', '0.00']);
  for (let i = 1; i < 2000; i += 1) assert.ok(Number(hundredths(1 - 1 / (3 * i + 1))) < 1);
});

test('a figure in doubt is no verdict', () => {
  const doubtful = speedupOf(figures(21.09, 20, 22, 'more than its tokens'), 'measured');
  assert.match(figureWords(doubtful), /^~ 21\.09/);
  assert.equal(gainWords(doubtful), 'in doubt: more than its tokens');
  const sure = speedupOf(figures(1.25, 1.1, 1.3), 'measured');
  assert.match(figureWords(sure), /^1\.25/);
  assert.match(gainWords(sure), /^faster/);
});

test('a step is set only beside a plain pass of the same measurement', () => {
  const trace = traceOf(['AAR', 'residual'], ['AAA', 'bonus']);
  const [step] = trace.steps;
  assert.deepEqual(stepTimes(trace, step, null).plain, null);
  assert.deepEqual(stepTimes(trace, step, {}), { ...step.ms, plain: null, source: 'not measured yet' });
  const costs = { target_ms: [7, 7.5, 8, 9], draft_ms: 1, rest_ms: 0.5 };
  assert.deepEqual(stepTimes({ ...trace, costs }, step, {}), {
    draft: 3, verify: 9, rest: 0.5, plain: 7, source: "both from the pair's timings",
  });
  const once = { tokens: 4, ms: 40 };
  assert.equal(stepTimes({ ...trace, baseline: once }, step, { speedup_measured_doubt: 'once' }).plain, null);
  assert.equal(stepTimes({ ...trace, costs }, step, { speedup_modelled_doubt: 'busy' }).source, 'in doubt, so not compared');
  const raced = { ...trace, costs, baseline: { ...once, timing: { rounds: 3 } } };
  assert.deepEqual(stepTimes(raced, step, { speedup_measured_doubt: null }), { ...step.ms, plain: 10, source: 'both measured in turns' });
  assert.equal(stepTimes(raced, step, { speedup_measured_doubt: 'wide' }).plain, 7);
  assert.deepEqual([roundsWords(raced), roundsWords(trace)], ['in turns, 3 rounds', 'once']);
});
