// Branches: the one number that somebody has moved, whether the run can be computed again from it, and which two runs are compared.

import { capital } from '../run/numbers.js';
import { isServerComputing, loadedPairs } from './bridge.js';
import { isStandalone } from './modes.js';
import { state } from './state.js';

/** @import { Address, Message, Pair, Trace } from '../run/types.js' */

// --- the moved number

export const moved = { run: null, step: 0, position: 0, purpose: '', u: null, timer: null };

/** @type {(run: string, address: Address) => boolean} */
export const isMoved = (run, address) =>
  moved.u !== null && moved.run === run && ['step', 'position', 'purpose'].every((name) => moved[name] === address[name]);

/** @type {() => void} */
export const forgetMove = () => { moved.u = null; };

export const branching = {
  last: null, // the message of the whole run on screen
  kept: null, // the run that the server keeps for this visitor, by its id
  parent: null, // the message of the run that a branch was asked of
  pair: null, // {original, branch}: messages
  roots: new Map(), // a branch's id to the name of the recorded run that it came from, if it came from one
  busy: null, // what is being computed: "a branch" or "a race"
  notice: null, // the answer to somebody who wants a run meanwhile
};

// --- whether a branch can be computed

const sameModel = (ours, theirs) =>
  ours !== null && theirs !== null && (ours.sha256 ?? null) === (theirs.sha256 ?? null) && ours.dtype === theirs.dtype;

const differenceOf = (side, ours, theirs) => (ours?.dtype !== theirs?.dtype
  ? `The ${side} is in ${ours?.dtype} here, but this run was made in ${theirs?.dtype}: a branch needs the same.`
  : `The ${side}'s weights here are not those of this run: a branch needs the same.`);

const whyNotHere = (trace, pairs) => {
  const { pair, draft } = trace.settings;
  const here = pairs.find((each) => each.pair === pair);
  if (!here) return `The pair ${pair} is not loaded here: once it is, this works.`;
  if (!sameModel(here.target, trace.weights.target)) return differenceOf('target', here.target, trace.weights.target);
  if (draft.kind !== 'model' || pair === 'toy') return null;
  if (here.draft?.name !== draft.name) return `The draft ${draft.name} is not loaded here: a branch needs the same.`;
  return sameModel(here.draft, trace.weights.draft) ? null : differenceOf('draft', here.draft, trace.weights.draft);
};

/** @type {() => boolean} */
export const isComputing = () => state.live || branching.busy !== null || isServerComputing();

// The one reason why a branch of a run can't be computed now, or null.
/** @type {(trace: Trace) => ?string} */
export const whyNoBranch = (trace) => {
  if (isStandalone()) return 'This file has no models behind it: open the run on a SpecViz page.';
  if (state.noBranch) return state.noBranch;
  if (isComputing()) return `${capital(branching.busy ?? 'a run')} is being computed: wait for its end, or stop it.`;
  return whyNotHere(trace, loadedPairs());
};

// --- asking for one

// Where the server finds the run on screen: among the recorded ones, as this visitor's own, or in what is sent along.
/** @type {() => {recorded: string} | {run: string} | {trace: string}} */
export const whereabouts = () => {
  if (state.recorded) return { recorded: state.recorded.name };
  if (state.trace.run_id === branching.kept) return { run: state.trace.run_id };
  return { trace: JSON.stringify(state.trace) };
};

/** @type {(trace: Trace) => ?string} */
export const recordedRoot = (trace) => branching.roots.get(trace.run_id) ?? null;

// Every message passes here once: it may be the branch that was asked for, or something else that ends the comparison.
/** @type {(message: Message) => void} */
export const noteMessage = (message) => {
  const { parent, pair } = branching;
  const id = message.trace.run_id;
  if (!message.live) branching.kept = message.made ? id : null;
  if (pair && id === pair.branch.trace.run_id) pair.branch = message;
  else if (pair && id === pair.original.trace.run_id) pair.original = message;
  else if (parent && message.trace.parent === parent.trace.run_id) {
    branching.pair = { original: parent, branch: message };
    branching.roots.set(id, parent.recorded?.name ?? recordedRoot(parent.trace));
    forgetMove();
  } else branching.pair = null;
};

// --- original and branch under each other

/** @type {(pair: Pair) => 'original' | 'branch'} */
export const onScreenOf = ({ original }) => (state.trace.run_id === original.trace.run_id ? 'original' : 'branch');

// Both messages while one of them is on screen, or null.
/** @type {() => ?Pair} */
export const comparison = () => {
  const { pair } = branching;
  return pair && [pair.original, pair.branch].some((each) => each.trace.run_id === state.trace.run_id) ? pair : null;
};
