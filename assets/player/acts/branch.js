// A branch: the run on screen, computed again from one moved number on. This is the only thing here that asks the server.

const branching = {
  last: null, // the message of the whole run on screen
  kept: null, // the run that the server keeps for this visitor, by its id
  parent: null, // the message of the run that a branch was asked of
  pair: null, // {original, branch}: messages
  roots: new Map(), // a branch's id to the name of the recorded run that it came from, if it came from one
  busy: null, // what is being computed: "a branch" or "a race"
  notice: null, // the answer to somebody who wants a run meanwhile
};

// --- in words

const PURPOSE_WORDS = {
  accept: (step, position) => `coin ${position} of step ${step}`,
  draft: (step, position) => `the draw of draft ${position} in step ${step}`,
  final: (step) => `the last draw of step ${step}`,
};

const overrideWords = ([step, position, purpose, u]) => `${PURPOSE_WORDS[purpose](step, position)} set to ${drawnText(u)}`;

// What marks a branch in every heading: which numbers were put in its place, those of its parents too.
const branchMark = (trace) => {
  const { overrides } = trace.settings;
  if (overrides.length === 0) return [];
  const what = trace.parent === null ? 'numbers put in' : overrides.length > 1 ? 'a branch of a branch' : 'a branch';
  return [make('b', 'sv-branched', `${what}: ${overrides.map(overrideWords).join('; ')}`), ' · '];
};

// --- whether it can be computed

const loadedPairs = () => (window.specvizLoaded ? JSON.parse(window.specvizLoaded) : []);

const sameModel = (ours, theirs) => ours !== null && theirs !== null && (ours.sha256 ?? null) === (theirs.sha256 ?? null) && ours.dtype === theirs.dtype;

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

const isFromCsv = (trace) => trace.settings.top_m === 0;

// Gradio shows Stop while something is being computed.
const isComputing = () => state.live || branching.busy !== null || Boolean(document.querySelector('#stop')?.offsetParent);

// The one reason why a branch of a run can't be computed now, or null.
const whyNoBranch = (trace) => {
  if (isStandalone()) return 'This file has no models behind it: open the run on a SpecViz page.';
  if (isFromCsv(trace)) return 'This run came from a CSV file, which does not hold enough to go on from: open its JSON file.';
  if (trace.settings.fault) return "A run with a deliberate mistake can't be branched: run it again without the mistake.";
  if (isComputing()) return `${capital(branching.busy ?? 'a run')} is being computed: wait for its end, or stop it.`;
  return whyNotHere(trace, loadedPairs());
};

const capital = (text) => text[0].toUpperCase() + text.slice(1);

// --- asking for one

// Where the server finds the run on screen: among the recorded ones, as this visitor's own, or in what is sent along.
const whereabouts = () => {
  if (state.recorded) return { recorded: state.recorded.name };
  if (state.trace.run_id === branching.kept) return { run: state.trace.run_id };
  return { trace: JSON.stringify(state.trace) };
};

const runBranch = () => {
  if (moved.u === null || moved.run !== state.trace.run_id || whyNoBranch(state.trace) !== null) {
    choiceChanged(); // says why
    return;
  }
  const { step, position, purpose, u } = moved;
  branching.parent = branching.last;
  branching.busy = 'a branch';
  window.specvizBranch = JSON.stringify({ step, position, purpose, u, ...whereabouts() });
  document.querySelector('#branch').click();
  choiceChanged();
};

const recordedRoot = (trace) => branching.roots.get(trace.run_id) ?? null;

// Every message passes here once: it may be the branch that was asked for, or something else that ends the comparison.
const noteMessage = (message) => {
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

const beatOfMove = ({ step, position, purpose }) => ({ accept: `${step}.coin.${position}`, draft: `${step}.draft.${position}`, final: `${step}.draw` })[purpose];

// A branch that was just computed stands at its end; while predicting at the number that was moved, or it would tell the rest.
const takeBranch = (message) => {
  if (!message.live) branching.last = message;
  if (!message.live && state.trace.run_id === branching.pair?.branch.trace.run_id && predicting.on) noteReached(startOfBranch(message.trace) ?? 0);
};

const startOfBranch = (trace) => {
  const [step, position, purpose] = trace.settings.overrides.find((each) => !branching.parent.trace.settings.overrides.some((old) => String(old) === String(each)))
    ?? trace.settings.overrides.at(-1);
  return indexOfBeat(state.clock, beatOfMove({ step, position, purpose }));
};

// --- original and branch under each other

const onScreenOf = ({ original }) => (state.trace.run_id === original.trace.run_id ? 'original' : 'branch');

// Both messages while one of them is on screen, or null.
const comparison = () => {
  const { pair } = branching;
  return pair && [pair.original, pair.branch].some((each) => each.trace.run_id === state.trace.run_id) ? pair : null;
};

const firstDifference = (a, b) => {
  const at = a.findIndex((cell, i) => cell.id !== b[i]?.id);
  return at >= 0 ? at : a.length < b.length ? a.length : null;
};

const outputs = new WeakMap(); // a trace's output is worked out once

const cachedOutput = (trace) => {
  if (!outputs.has(trace)) outputs.set(trace, outputOf(trace));
  return outputs.get(trace);
};

// As much of a run's output as may be seen: of the one on screen what its beat has revealed, of the other its earlier steps.
const revealedOf = (trace, length) => {
  const { cells } = cachedOutput(trace);
  if (trace.run_id === state.trace.run_id) return length;
  if (atEnd() && !state.live && !isPredicting()) return cells.length;
  const later = cells.findIndex((cell) => cell.step >= currentBeat().step);
  return later < 0 ? cells.length : later;
};

const SHARED_TOKENS = 120; // one line holds no more

const tokenRun = (trace, from, to) => {
  const { cells, texts } = cachedOutput(trace);
  return cells.slice(from, to).map((cell, i) => ribbonToken(cell, texts[from + i], nameOf(trace.tokens, cell.id), cell.state));
};

const forkLine = (name, trace, from, to) => {
  const isHere = trace.run_id === state.trace.run_id;
  const label = make('button', '', name);
  label.type = 'button';
  label.setAttribute('aria-pressed', String(isHere));
  const tokens = tokenRun(trace, from, to);
  tokens[0]?.classList.add('sv-differs');
  const line = make('div', 'sv-fork', label, make('div', 'sv-forked', ...tokens, isHere ? caret() : null));
  (isHere ? label : line).dataset.do = name === 'branch' ? 'fork' : name;
  line.toggleAttribute('data-here', isHere);
  return line;
};

const sharedLine = (trace, to, note) => {
  const from = Math.max(0, to - SHARED_TOKENS);
  return make('div', 'sv-shared', make('span', 'sv-fork-name', 'both'), make('div', 'sv-forked', make('span', 'sv-prompt', `${trace.prompt.text} `), from > 0 ? '… ' : null,
    ...tokenRun(trace, from, to), note));
};

// Takes the ribbon's place while a branch is compared: the shared beginning once, then both ends, the first difference boxed.
const drawComparison = (place, ribbon, length) => {
  const pair = comparison();
  place.hidden = pair === null;
  ribbon.hidden = pair !== null;
  if (!pair) return;
  const original = pair.original.trace;
  const branch = state.live ? state.trace : pair.branch.trace;
  const [ours, theirs] = [cachedOutput(original).cells, cachedOutput(branch).cells];
  const fork = firstDifference(ours, theirs);
  const from = fork ?? Math.min(ours.length, theirs.length);
  const [ourEnd, theirEnd] = [revealedOf(original, length), revealedOf(branch, length)];
  const same = fork === null && !state.live && atEnd() ? make('b', '', ' both write the same') : null;
  place.replaceChildren(sharedLine(state.trace, Math.min(from, length), same), forkLine('original', original, from, ourEnd), forkLine('branch', branch, from, theirEnd));
  // In view is what came last; once all is there, the difference.
  place.querySelectorAll('.sv-forked').forEach((node, i) => {
    const whole = i > 0 && atEnd() && !state.live;
    Object.assign(node, { scrollLeft: whole ? 0 : node.scrollWidth, scrollTop: whole ? 0 : node.scrollHeight });
  });
};

// The other run on the same grid, at the beat of the same name.
const showRun = (name) => {
  const pair = comparison();
  if (!pair || state.live || onScreenOf(pair) === name) return;
  const wasAtEnd = atEnd();
  const beat = currentBeat().name;
  showMessage(pair[name]);
  goTo(wasAtEnd ? lastBeat() : indexOfBeat(state.clock, beat));
  part('both').querySelector(`[aria-pressed="true"]`)?.focus({ preventScroll: true });
};

// --- Run while a branch or a race is computed: answered here, and nothing is sent or lost

const refuseRun = (event) => {
  event.preventDefault();
  event.stopImmediatePropagation();
  branching.notice = `${capital(branching.busy)} is being computed: wait for its end or press Stop, then Run. The controls stay as they are.`;
  if (state.trace) drawLine();
  part('aloud').textContent = branching.notice;
};

const wantsRun = (event) => (event.type === 'click' ? Boolean(event.target.closest?.('#run, #race'))
  : event.key === 'Enter' && !event.shiftKey && Boolean(event.target.closest?.('#prompt textarea')));

const noticeNow = () => (branching.notice === null ? null : make('b', 'sv-notice', branching.notice));

const atRest = () => {
  branching.busy = branching.notice = null;
  if (!state.trace) return;
  drawLine();
  choiceChanged();
};

// --- a link that holds a branch

const LINKED_CHANGE = /^(\d+)\.(\d+)\.(draft|accept|final)\.([\d.]+(?:e-\d+)?)$/;

const readChange = (text) => {
  const [, step, position, purpose, u] = LINKED_CHANGE.exec(text) ?? [];
  const change = { step: Number(step), position: Number(position), purpose, u: Number(u) };
  return purpose && change.u >= 0 && change.u < 1 ? change : null;
};

let linkedChanges = (linked('branch') ?? '').split(',').filter(Boolean).map(readChange).filter(Boolean);
let linkedParent = null;

LINK_SAYS.branch = () => state.trace.settings.overrides.map((each) => each.join('.')).join(',') || null;

const isAt = (trace, { step, position, purpose }) => {
  const there = trace.steps[step - 1];
  if (!there) return false;
  if (purpose === 'final') return there.final !== null && position === acceptedIn(there) + 1;
  const draft = there.drafts[position - 1];
  return Boolean(draft) && (purpose === 'draft' || wasExamined(draft));
};

// The link's next change is put in its place, ready to be run; the branch that comes of it gets the one after.
const proposeLinked = () => {
  if (linkedChanges.length === 0 || state.live || !(linkedParent === null ? isLinked() : state.trace.parent === linkedParent)) return;
  const [change, ...later] = linkedChanges;
  linkedChanges = later;
  if (!isAt(state.trace, change)) {
    linkedChanges = [];
    branching.notice = "The link's branch changes a number that this run does not have: this is the run without it.";
    return;
  }
  linkedParent = state.trace.run_id;
  Object.assign(moved, change, { run: state.trace.run_id });
  state.at = indexOfBeat(state.clock, beatOfMove(change)) ?? state.at;
  state.captions = false;
};

const listenForBranches = () => {
  window.addEventListener('specviz:loaded', () => hasBeats() && choiceChanged());
  window.addEventListener('specviz:rest', atRest);
  ['click', 'keydown', 'keypress'].forEach((kind) => document.addEventListener(kind, (event) => {
    if (branching.busy !== null && wantsRun(event)) refuseRun(event);
    else if (kind === 'click' && event.target.closest?.('#race')) branching.busy = 'a race';
  }, { capture: true }));
};
