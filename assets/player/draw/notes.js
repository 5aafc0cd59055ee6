// What a link says above the run: a task in plain text, and where this machine's run is not the one that the link was made from.

import { FINGERPRINT, partingWords } from '../run/fingerprint.js';
import { facts } from '../state/facts.js';
import { part, root } from '../state/host.js';
import { address, isLinked, linked, linkedTask } from '../state/link.js';
import { isPredicting } from '../state/reveal.js';
import { currentBeat, hasBeats, state } from '../state/state.js';
import { make } from './dom.js';

const dismissed = new Set(); // notes that somebody closed, by name

const HALF = ['float16', 'bfloat16'];

const whyOther = (trace) => (HALF.includes(trace.weights?.target?.dtype) ? 'half precision rounds differently from machine to machine'
  : 'another processor, other libraries or other weights round differently');

const recordedLink = (print) => {
  const entry = (state.gallery ?? []).find((each) => each.fingerprint === print);
  if (!entry) return [];
  const query = new URLSearchParams({ recorded: entry.name });
  if (hasBeats()) query.set('beat', currentBeat().name);
  const link = make('a', '', `Open the recorded one: ${entry.title}`);
  link.href = `?${query}`;
  return [' ', link];
};

// A link's fingerprint is of its branch, where it has one.
const isBranchElsewhere = () => state.trace !== null && (state.trace.settings.overrides.length > 0) !== (linked('branch') !== null);

// What there is to say about the link's run and ours; nothing while the link is about another run, or answers are kept back.
const printNote = () => {
  const asked = linked('fp');
  if (asked === null || isBranchElsewhere() || state.live || state.recorded || !state.fingerprint || isPredicting() || !isLinked())
    return null;
  if (!FINGERPRINT.test(asked))
    return ['The link’s fingerprint is broken, so this run can’t be compared with the one that the link was made from.'];
  const parting = partingWords(state.fingerprint, asked, facts.checkpoints);
  return parting && [`This machine’s run differs from the link’s ${parting} (${whyOther(state.trace)}).`, ...recordedLink(asked)];
};

const beatNote = () => (address.beatUnknown ? ['The link names a beat that this run does not have, so it stands at the start.'] : null);

const noteNode = (name, words) => {
  const node = make('p', 'sv-remark', make('span', '', ...words));
  const close = make('button', '', '✕');
  close.type = 'button';
  close.setAttribute('aria-label', 'close this note');
  close.addEventListener('click', () => { dismissed.add(name); drawNotes(); });
  node.append(close);
  return node;
};

const taskNode = () => make('p', 'sv-task', make('b', '', 'Task'), ' ', make('span', '', linkedTask()));

// The run gets as much less of the window as this takes.
export const drawNotes = () => {
  const said = Object.entries({ beat: beatNote(), print: printNote() }).filter(([name, words]) => words && !dismissed.has(name));
  const key = JSON.stringify(said.map(([name, words]) => [name, words[0]]));
  const place = part('notes');
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  place.replaceChildren(...(linkedTask() ? [taskNode()] : []), ...said.map(([name, words]) => noteNode(name, words)));
  root().style.setProperty('--sv-notes', `${place.offsetHeight}px`);
};
