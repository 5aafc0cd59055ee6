// What a link says above the run: a task in plain text, and where this machine's run is not the one that the link was made from.

// The steps after which a character of a fingerprint stands for the whole run up to there, as in fingerprint.py.
const CHECKPOINTS = [...Array.from({ length: 32 }, (_, i) => i + 1), 36, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256];

const FINGERPRINT = /^[\w-]{8}\.[\w-]{0,45}$/;

const HALF = ['float16', 'bfloat16'];

// From where on two runs differ, in words; null where they are the same.
const partingWords = (ours, theirs) => {
  if (ours === theirs) return null;
  const [mine, other] = [ours, theirs].map((print) => print.slice(9));
  const most = Math.max(mine.length, other.length);
  const at = Array.from({ length: most }, (_, i) => i).find((i) => mine[i] !== other[i]);
  if (at === undefined) return 'in its last steps';
  const [after, upTo] = [at === 0 ? 0 : CHECKPOINTS[at - 1], CHECKPOINTS[at]];
  return upTo - after === 1 ? `from step ${upTo} on` : `from a step between ${after + 1} and ${upTo} on`;
};

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
  if (asked === null || isBranchElsewhere() || state.live || state.recorded || !state.fingerprint || isPredicting() || !isLinked()) return null;
  if (!FINGERPRINT.test(asked)) return ['The link’s fingerprint is broken, so this run can’t be compared with the one that the link was made from.'];
  const parting = partingWords(state.fingerprint, asked);
  return parting && [`This machine’s run differs from the link’s ${parting} (${whyOther(state.trace)}).`, ...recordedLink(asked)];
};

const notes = { beatUnknown: false, dismissed: new Set() };

const beatNote = () => (notes.beatUnknown ? ['The link names a beat that this run does not have, so it stands at the start.'] : null);

const TASK = linkedText('task', TASK_LENGTH);

const noteNode = (name, words) => {
  const node = make('p', 'sv-remark', make('span', '', ...words));
  const close = make('button', '', '✕');
  close.type = 'button';
  close.setAttribute('aria-label', 'close this note');
  close.addEventListener('click', () => { notes.dismissed.add(name); drawNotes(); });
  node.append(close);
  return node;
};

const taskNode = () => make('p', 'sv-task', make('b', '', 'Task'), ' ', make('span', '', TASK));

// The run gets as much less of the window as this takes.
const drawNotes = () => {
  const said = Object.entries({ beat: beatNote(), print: printNote() }).filter(([name, words]) => words && !notes.dismissed.has(name));
  const key = JSON.stringify(said.map(([name, words]) => [name, words[0]]));
  const place = part('notes');
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  place.replaceChildren(...(TASK ? [taskNode()] : []), ...said.map(([name, words]) => noteNode(name, words)));
  root.style.setProperty('--sv-notes', `${place.offsetHeight}px`);
};
