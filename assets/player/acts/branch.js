// A branch: the run on screen, computed again from one moved number on. This is the only thing here that asks the server for a run.

import { beatOfMove, indexOfBeat, wasExamined } from '../run/beats.js';
import { acceptedIn } from '../run/cells.js';
import { capital } from '../run/numbers.js';
import { branching, forgetMove, moved, whereabouts, whyNoBranch } from '../state/branches.js';
import { askForBranch, onTold } from '../state/bridge.js';
import { tell } from '../state/changes.js';
import { part } from '../state/host.js';
import { isLinked, linked } from '../state/link.js';
import { noteReached, predicting } from '../state/reveal.js';
import { state } from '../state/state.js';

/** @import { Message } from '../run/types.js' */

export const runBranch = () => {
  if (moved.u === null || moved.run !== state.trace.run_id || whyNoBranch(state.trace) !== null) {
    tell('choice'); // says why
    return;
  }
  const { step, position, purpose, u } = moved;
  branching.parent = branching.last;
  branching.busy = 'a branch';
  askForBranch({ step, position, purpose, u, ...whereabouts() });
  tell('choice');
};

export const putBack = () => {
  const { purpose } = moved;
  forgetMove();
  tell('choice');
  part('details').querySelector(`[data-moves="${purpose}"]`)?.focus({ preventScroll: true });
};

// A branch that was just computed stands at its end; while predicting at the number that was moved, or it would tell the rest.
/** @type {(message: Message) => void} */
export const takeBranch = (message) => {
  if (!message.live) branching.last = message;
  if (!message.live && state.trace.run_id === branching.pair?.branch.trace.run_id && predicting.on)
    noteReached(startOfBranch(message.trace) ?? 0);
};

const startOfBranch = (trace) => {
  const { overrides } = trace.settings;
  const old = branching.parent.trace.settings.overrides.map(String);
  const [step, position, purpose] = overrides.find((each) => !old.includes(String(each))) ?? overrides.at(-1);
  return indexOfBeat(state.clock, beatOfMove({ step, position, purpose }));
};

// --- Run while a branch or a race is computed: answered here, and nothing is sent or lost

const refuseRun = (event) => {
  event.preventDefault();
  event.stopImmediatePropagation();
  const busy = `${capital(branching.busy)} is being computed`;
  branching.notice = `${busy}: wait for its end or press Stop, then Run. The controls stay as they are.`;
  if (state.trace) tell('line');
  part('aloud').textContent = branching.notice;
};

const wantsRun = (event) => (event.type === 'click' ? Boolean(event.target.closest?.('#run, #race'))
  : event.key === 'Enter' && !event.shiftKey && Boolean(event.target.closest?.('#prompt textarea')));

const atRest = () => {
  branching.busy = branching.notice = null;
  if (!state.trace) return;
  tell('line');
  tell('choice');
};

// --- a link that holds a branch

const LINKED_CHANGE = /^(\d+)\.(\d+)\.(draft|accept|final)\.([\d.]+(?:e-\d+)?)$/;

const readChange = (text) => {
  const [, step, position, purpose, u] = LINKED_CHANGE.exec(text) ?? [];
  const change = { step: Number(step), position: Number(position), purpose, u: Number(u) };
  return purpose && change.u >= 0 && change.u < 1 ? change : null;
};

const following = { changes: [], parent: null }; // what of the link's changes is still to come, and in which run

export const readLinkedBranch = () => {
  following.changes = (linked('branch') ?? '').split(',').filter(Boolean).map(readChange).filter(Boolean);
};

const isAt = (trace, { step, position, purpose }) => {
  const there = trace.steps[step - 1];
  if (!there) return false;
  if (purpose === 'final') return there.final !== null && position === acceptedIn(there) + 1;
  const draft = there.drafts[position - 1];
  return Boolean(draft) && (purpose === 'draft' || wasExamined(draft));
};

// The link's next change is put in its place, ready to be run; the branch that comes of it gets the one after.
export const proposeLinked = () => {
  const isTheirs = () => (following.parent === null ? isLinked() : state.trace.parent === following.parent);
  if (following.changes.length === 0 || state.live || !isTheirs()) return;
  const [change, ...later] = following.changes;
  following.changes = later;
  if (!isAt(state.trace, change)) {
    following.changes = [];
    branching.notice = "The link's branch changes a number that this run does not have: this is the run without it.";
    return;
  }
  following.parent = state.trace.run_id;
  Object.assign(moved, change, { run: state.trace.run_id });
  state.at = indexOfBeat(state.clock, beatOfMove(change)) ?? state.at;
  state.captions = false;
};

export const listenForBranches = () => {
  onTold('loaded', () => tell('choice'));
  onTold('computing', () => tell('choice'));
  onTold('ended', atRest);
  ['click', 'keydown', 'keypress'].forEach((kind) => document.addEventListener(kind, (event) => {
    if (branching.busy !== null && wantsRun(event)) refuseRun(event);
    else if (kind === 'click' && event.target.closest?.('#race')) branching.busy = 'a race';
  }, { capture: true }));
};
