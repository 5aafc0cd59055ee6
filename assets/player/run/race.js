// A race between the two loops: what happened when, who won, and why. Numbers and sentences; the dialog is elsewhere.

import { cellsOf, inOutput, isGreedy } from './cells.js';
import { milliseconds, sumOf } from './numbers.js';
import { boundsWords, hundredths, speedupOf } from './speed.js';

/** @import { Figures, RaceEvent, Trace } from './types.js' */

const SHORTEST_RACE = 8; // tokens; below that no winner is called

// Each lane as events: the milliseconds at which its next tokens were there.
/** @type {(trace: Trace, ms: number[]) => RaceEvent[]} */
export const plainEvents = (trace, ms) => trace.baseline.token_ids.map((id, i) => ({ at: ms[i], cells: [{ id, state: 'by-plain' }] }));

/** @type {(trace: Trace) => RaceEvent[]} */
export const speculativeEvents = (trace) => {
  let at = 0;
  return trace.steps.map((step) => {
    at += step.ms.step;
    return { at, cells: cellsOf(step).filter(inOutput) };
  });
};

/** @type {(events: RaceEvent[]) => number} */
export const endOf = (events) => events.at(-1)?.at ?? 0;

/** @type {(events: RaceEvent[]) => number} */
export const tokensIn = (events) => events.reduce((sum, event) => sum + event.cells.length, 0);

const meanOf = (steps, name) => sumOf(steps.map((step) => step.ms[name])) / steps.length;

// Who was faster for each token, and the figures that say why.
/** @type {(trace: Trace, figures: Figures, ms: number[]) => object} */
export const raceFigures = (trace, figures, ms) => {
  const [plain, speculative] = [plainEvents(trace, ms), speculativeEvents(trace)];
  const plainToken = endOf(plain) / tokensIn(plain);
  const token = endOf(speculative) / tokensIn(speculative);
  return {
    plainToken,
    token,
    speedup: speedupOf(figures, 'measured'),
    isShort: Math.min(tokensIn(plain), tokensIn(speculative)) < SHORTEST_RACE,
    acceptance: figures.acceptance_examined,
    perPass: figures.tokens_per_pass,
    step: meanOf(trace.steps, 'step'),
    draft: meanOf(trace.steps, 'draft'),
    verify: meanOf(trace.steps, 'verify'),
    affordable: figures.tokens_per_pass * plainToken,
  };
};

/** @type {(f: object) => string} */
export const verdictOfRace = ({ token, plainToken, speedup, isShort }) => {
  const tokens = `${milliseconds(token)} a token against ${milliseconds(plainToken)}`;
  if (isShort || !speedup) return `Too few tokens to call it: ${tokens}.`;
  if (speedup.doubt) return `No verdict (${tokens}): ${speedup.doubt}.`;
  const { value, low, high } = speedup;
  const bounds = boundsWords(speedup);
  if (low <= 1 && high >= 1) return `A draw: ${tokens}, ${value.toFixed(2)} times as fast${bounds}.`;
  return value > 1 ? `Speculation wins: ${tokens}, ${value.toFixed(2)} times as fast${bounds}.`
    : `Speculation loses: ${tokens}, it takes ${((1 / value - 1) * 100).toFixed(0)} % longer: ${value.toFixed(2)} times as fast${bounds}.`;
};

// Why two texts stand there, where they do.
/** @type {(trace: Trace) => ?string} */
export const whyTwoTexts = (trace) => {
  const [ours, plain] = [trace.token_ids, trace.baseline.token_ids];
  const common = Math.min(ours.length, plain.length);
  if (ours.slice(0, common).every((id, i) => id === plain[i])) return null;
  return isGreedy(trace)
    ? 'Two texts, though at temperature 0 there is no chance: where they part, two tokens are as likely for the target to the last '
      + 'digits, and a pass over several rows rounds differently from one over a single row (a near-tie, see Exactness).'
    : 'Two texts of one law: each token is drawn with the target’s own probabilities in both loops, but with other random numbers, '
      + 'as with another seed. A race compares how long they take, not what they say.';
};

/** @type {(trace: Trace, f: object) => string[]} */
export const reasonsOfRace = (trace, f) => {
  const tokens = `${f.perPass.toFixed(2)} tokens`;
  const drafted = f.acceptance === null ? 'Nothing was drafted' : `${hundredths(f.acceptance)} of the drafts looked at were kept`;
  const [step, draft, verify, plain] = [f.step, f.draft, f.verify, f.plainToken].map(milliseconds);
  return [
    `${drafted}, so a target pass gave ${tokens}.`,
    `A step took ${step}: drafting ${draft}, verification ${verify} against ${plain} for the plain loop's one row.`,
    f.speedup?.doubt ? null : `For ${tokens} a step may take ${milliseconds(f.affordable)} before speculation loses.`,
    whyTwoTexts(trace),
    trace.settings.pair === 'toy' ? 'The toy has no models: these are the milliseconds of the program around them.' : null,
  ].filter(Boolean);
};
