// What a run's speedups say, and what they don't: bounds, doubts, and a step's time beside the plain loop's.

import { comparedWithOne, count, times } from './numbers.js';

/** @import { Figures, Step, StepTimes, Speedup, Trace } from './types.js' */

/** @type {(figures: Figures, kind: 'measured' | 'modelled') => ?Speedup} */
export const speedupOf = (figures, kind) => {
  const [value, low, high, doubt] = ['', '_low', '_high', '_doubt'].map((what) => figures[`speedup_${kind}${what}`] ?? null);
  return value === null ? null : { value, low: low ?? value, high: high ?? value, doubt };
};

// Two decimals, or as many as show that a figure is below 1.
/** @type {(x: number) => string} */
export const hundredths = (x) => {
  let digits = 2;
  while (x < 1 && Number(x.toFixed(digits)) >= 1 && digits < 16) digits += 1;
  return x.toFixed(digits);
};

// Faster or slower only where the bounds leave no other answer.
/** @type {(speedup: Speedup) => string} */
export const comparedBetween = ({ value, low, high }) =>
  (low <= 1 && high >= 1 ? 'as fast as plain decoding, for all that was measured' : comparedWithOne(value));

/** @type {(speedup: Speedup) => string} */
export const boundsWords = ({ low, high }) => (low < high ? ` (${hundredths(low)} to ${hundredths(high)})` : '');

/** @type {(speedup: Speedup) => string} */
export const figureWords = (speedup) => (speedup.doubt ? `~ ${times(speedup.value)}` : times(speedup.value));

/** @type {(speedup: Speedup) => string} */
export const gainWords = (speedup) => (speedup.doubt ? `in doubt: ${speedup.doubt}` : comparedBetween(speedup));

/** @type {(trace: Trace) => string} */
export const roundsWords = (trace) => {
  const rounds = trace.baseline?.timing?.rounds;
  return rounds ? `in turns, ${count(rounds, 'round', 'rounds')}` : 'once';
};

// A step's parts and one pass of the plain loop, of one and the same measurement: the race's rounds, or else the pair's timings;
// the plain pass is null where neither is there to be relied on.
/** @type {(trace: Trace, step: Step, figures: ?Figures) => StepTimes} */
export const stepTimes = (trace, step, figures) => {
  const { baseline, costs } = trace;
  if (!figures) return { ...step.ms, plain: null, source: 'comes when the run has ended' };
  if (baseline?.timing && !figures.speedup_measured_doubt)
    return { ...step.ms, plain: baseline.ms / baseline.tokens, source: 'both measured in turns' };
  if (costs && !figures.speedup_modelled_doubt && costs.target_ms[step.k] !== undefined)
    return { draft: step.k * costs.draft_ms, verify: costs.target_ms[step.k], rest: costs.rest_ms, plain: costs.target_ms[0],
      source: "both from the pair's timings" };
  return { ...step.ms, plain: null, source: costs || baseline ? 'in doubt, so not compared' : 'not measured yet' };
};
