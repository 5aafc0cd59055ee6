// Calls and guesses, the coins that a class throws, and how all that is scored. Pure functions; nothing here draws.

import { count, percentOf } from './numbers.js';

/** @import { Beat, Call, Guess, Score, Step } from './types.js' */

/** @type {(step: number, position: number) => string} */
export const keyOf = (step, position) => `${step}.${position}`;

/** @type {(beat: Beat) => string} */
export const keyOfBeat = (beat) => keyOf(beat.step, beat.position);

/** @type {(draft: {state: string}) => Call} */
export const callOf = (draft) => (draft.state === 'accepted' ? 'accept' : 'reject');

const likelierCall = (chance) => (chance >= 0.5 ? 'accept' : 'reject');

// Of calls {call, verdict, chance}: how many came true, and how many of always calling the likelier side would have.
/** @type {(calls: {call: Call, verdict: Call, chance: number}[]) => Score} */
export const scoreOf = (calls) => ({
  all: calls.length,
  right: calls.filter((each) => each.call === each.verdict).length,
  likelier: calls.filter((each) => likelierCall(each.chance) === each.verdict).length,
  kept: calls.filter((each) => each.verdict === 'accept').length,
});

// At temperature 0 the chance is the answer itself; what is easy there is to always say "same".
/** @type {(score: Score, greedy: boolean) => string} */
export const scoreWords = (score, greedy) => {
  if (score.all === 0) return 'No call yet.';
  const easy = greedy
    ? `always saying “same” would have got ${score.kept}`
    : `always calling the likelier side would have got ${score.likelier}`;
  return `${score.right} of ${score.all} right; ${easy}.`;
};

const wholePercent = (chance) => Math.round(100 * chance);

// How far a guess in per cent is from a chance between 0 and 1, in percentage points.
const distanceOf = (guess, chance) => Math.abs(guess - wholePercent(chance));

/** @type {(guess: Guess) => string} */
export const guessWords = ({ guess, chance }) => {
  const off = distanceOf(guess, chance);
  return `You said ${guess} %, it is ${percentOf(chance)}: ${off === 0 ? 'exactly right' : `${off} off`}.`;
};

/** @type {(guesses: Guess[]) => string} */
export const distanceWords = (guesses) => {
  if (guesses.length === 0) return 'No guess yet.';
  const mean = guesses.reduce((sum, each) => sum + distanceOf(each.guess, each.chance), 0) / guesses.length;
  return `${count(guesses.length, 'guess', 'guesses')}, mean distance ${Math.round(mean)}.`;
};

// Two digits as a coin: "7 1", "71" and "0.71" are 0.71; null where they are none.
/** @type {(text: string) => ?number} */
export const coinOfDigits = (text) => {
  const [, tenths, hundredths] = /^\s*(?:0?[.,])?\s*(\d)\s*(\d)\s*$/.exec(text) ?? [];
  return tenths === undefined ? null : Number(`0.${tenths}${hundredths}`);
};

export const NO_COIN = 'That is no coin: type two digits, such as 7 1 for 0.71.';

// A step as it would stand just after another coin at one of its positions: kept or rejected by the rule u·q < p; what follows a
// rejected draft is not looked at, what follows a kept one is still to be decided. `by` says whose coin it was.
/** @type {(step: Step, position: number, u: number, by?: string) => Step} */
export const stepWithCoin = (step, position, u, by) => {
  const { p, q } = step.drafts[position - 1];
  const kept = u * q < p;
  const after = kept ? { state: 'undecided', coin: undefined } : { state: 'discarded', coin: null };
  const drafts = step.drafts.map((draft, i) => {
    if (i + 1 < position) return draft;
    return i + 1 === position ? { ...draft, coin: u, by, state: kept ? 'accepted' : 'rejected' } : { ...draft, ...after };
  });
  return { ...step, drafts };
};

// --- what can be answered, as the page writes it

export const ANSWERS = {
  verdict: [['accept', 'kept', 'A'], ['reject', 'rejected', 'R']],
  same: [['accept', 'same', 'A'], ['reject', 'different', 'R']],
};

export const CALL_WORDS = { verdict: { accept: 'kept', reject: 'rejected' }, same: { accept: 'same', reject: 'different' } };
