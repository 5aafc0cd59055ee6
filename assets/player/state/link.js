// Controls describe the next run, everything else the run on screen: what differs, what a link says, files dropped.

const CONTROL_NAMES = ['prompt', 'pair', 'draft', 'k', 'temperature', 'top_k', 'top_p', 'max_new_tokens', 'seed', 'chat', 'agreement'];
const CONTROL_WORDS = { k: 'K', top_k: 'top-k', top_p: 'top-p', max_new_tokens: 'length', prompt: 'another prompt', pair: 'another pair', draft: 'another draft', chat: 'another template' };
const CHAT_WORDS = { true: 'chat template', false: 'raw text' };
const AS_EXPECTED = 'as the model expects';
const WITHOUT_VALUE = ['prompt', 'pair', 'draft', 'chat'];

// The share of the target's logits in the toy's own draft stands in that draft's name; other drafts have none.
const agreementOf = ({ pair, draft }) => {
  if (pair !== 'toy' || draft.kind !== 'model') return null;
  return draft.name === 'toy' ? 1 : Number(draft.name.slice('toy-'.length));
};

// What the controls would hold for the run on screen.
const askedFor = ({ settings, prompt }) => ({
  prompt: prompt.text, pair: settings.pair, draft: settings.draft.kind, k: settings.k, temperature: settings.temperature, top_k: settings.top_k,
  top_p: settings.top_p, max_new_tokens: settings.max_new_tokens, seed: settings.seed, chat: CHAT_WORDS[settings.chat], agreement: agreementOf(settings),
});

const controlValues = () => window.specvizControls && Object.fromEntries(CONTROL_NAMES.map((name, i) => [name, window.specvizControls[i]]));

const differs = (name, now, was) => {
  if (was[name] === null || was[name] === undefined || now[name] === null) return false;
  if (name === 'chat' && now.chat === AS_EXPECTED) return false;
  if (name === 'agreement' && now.pair !== 'toy') return false;
  return typeof was[name] === 'number' ? Number(now[name]) !== was[name] : now[name] !== was[name];
};

const changedControls = () => {
  const now = controlValues();
  if (!now || state.trace === null) return [];
  const was = askedFor(state.trace);
  return CONTROL_NAMES.filter((name) => differs(name, now, was)).map((name) => ({ name, now: now[name], was: was[name] }));
};

const changeWords = ({ name, now }) => (WITHOUT_VALUE.includes(name) ? CONTROL_WORDS[name] : `${CONTROL_WORDS[name] ?? name} ${now}`);

// Gradio's own elements come and go, so their additions are styles of the body: a custom property that holds a CSS string.
const setStyleText = (name, text) => {
  if (text === null) document.body.style.removeProperty(name);
  else document.body.style.setProperty(name, JSON.stringify(text));
};

const tellControls = () => {
  const changed = changedControls();
  CONTROL_NAMES.forEach((name) => {
    const change = changed.find((each) => each.name === name);
    const was = change && (WITHOUT_VALUE.includes(name) ? 'changed' : `was ${change.was}`);
    setStyleText(`--was-${name}`, was ?? null);
  });
  setStyleText('--run-with', changed.length === 0 ? null : `\u00a0with ${changed.length === 1 ? changeWords(changed[0]) : `${changed.length} changes`}`);
  document.body.classList.toggle('sv-changed', changed.length > 0);
};

// --- the query string: written only after somebody did something, because the server reads it when the page opens

let acted = false;

// What the link said when the page opened; a standalone file carries its own.
const QUERY = new URLSearchParams(element.querySelector('.sv-player').dataset.query ?? window.location.search);

// What the link asked for under a name, as text, or null where it says nothing of it.
const linked = (name) => QUERY.get(name);

const TASK_LENGTH = 200; // characters
const LABEL_LENGTH = 60;

// The same on one line and not longer than it may be: whatever a link holds, it is shown as text.
const linkedText = (name, most) => cutText(linked(name) ?? '', most);

const cutText = (text, most) => Array.from(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()).slice(0, most).join('');

// The names in a list such as lock=k,seed, of those that there are.
const linkedNames = (name, known) => (linked(name) ?? '').split(',').filter((each) => known.includes(each));

// What a link says beside settings and beat, by name: functions that return a text, or null to say nothing. Other modules add theirs
// here; a name that stands in the address and is not here (task, lock, hide, label, tab) stays in it.
const LINK_SAYS = {
  recorded: () => state.recorded?.name ?? recordedRoot(state.trace),
  beat: () => (hasBeats() ? currentBeat().name : null),
  predict: () => (predicting.on ? '1' : null),
  speed: () => (state.speed === 'normal' ? null : state.speed),
  fp: () => (state.recorded || state.trace.settings.overrides.length > 0 ? null : state.fingerprint), // of a branch, the link runs the parent first
};

const linkOf = () => {
  const query = new URLSearchParams(window.location.search);
  CONTROL_NAMES.forEach((name) => query.delete(name));
  const settings = state.recorded ? {} : askedFor(state.trace);
  const said = Object.entries(LINK_SAYS).map(([name, says]) => [name, says()]);
  [...Object.entries(settings), ...said].forEach(([name, value]) => (value === null || value === undefined ? query.delete(name) : query.set(name, value)));
  return `?${query}`;
};

if (Object.hasOwn(PAUSES, linked('speed') ?? '')) state.speed = linked('speed');

const LINK_AFTER = 200; // milliseconds without another move: browsers limit how often an address may change

let linkTimer = null;

// A file without a server behind it: nothing there may need one, and its address is not ours to write.
const isStandalone = () => 'standalone' in element.querySelector('.sv-player').dataset;

const writeLink = () => {
  clearTimeout(linkTimer);
  if (!acted || isStandalone()) return;
  linkTimer = setTimeout(() => {
    if (state.trace !== null && !state.live && !state.playing) window.history.replaceState(window.history.state, '', linkOf());
  }, LINK_AFTER);
};

// Whether the run on screen is the one that the page's link is about: it then stands at the link's beat.
const isLinked = () => {
  if (QUERY.has('recorded')) return state.recorded?.name === QUERY.get('recorded');
  if (!CONTROL_NAMES.some((name) => QUERY.has(name))) return true;
  const asked = askedFor(state.trace);
  return state.recorded === null && CONTROL_NAMES.every((name) => !QUERY.has(name) || String(asked[name]) === QUERY.get(name));
};

// A beat's name can be right in another run of the same settings: its step is what has to be here.
const hasBeat = (clock, name) => indexOfBeat(clock, name) !== null && clock.starts[name.split('.')[0]] !== undefined;

const linkedBeat = () => {
  if (!QUERY.has('beat') || state.live || !isLinked()) return null;
  const name = QUERY.get('beat');
  QUERY.delete('beat');
  notes.beatUnknown = !hasBeat(state.clock, name);
  return notes.beatUnknown ? 0 : indexOfBeat(state.clock, name);
};

// --- files dropped anywhere go the way of the button "Open a trace"

const dropFile = (event) => {
  const [file] = event.dataTransfer?.files ?? [];
  const input = document.querySelector('#open input[type="file"], input[type="file"]');
  if (!file || !input) return;
  event.preventDefault();
  const files = new DataTransfer();
  files.items.add(file);
  input.files = files.files;
  input.dispatchEvent(new Event('change', { bubbles: true }));
};

// The settings under More lie over the page: a press elsewhere folds them away.
const foldMore = (event) => {
  const more = document.querySelector('#more');
  if (more && !more.contains(event.target)) more.querySelector('.label-wrap.open')?.click();
};

const listenToPage = () => {
  window.addEventListener('specviz:controls', tellControls);
  ['pointerdown', 'keydown'].forEach((kind) => document.addEventListener(kind, () => { acted = true; }, { capture: true }));
  document.addEventListener('dragover', (event) => { if (event.dataTransfer?.types.includes('Files')) event.preventDefault(); });
  document.addEventListener('drop', dropFile);
  document.addEventListener('pointerdown', foldMore);
};
