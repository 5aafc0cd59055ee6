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

const QUERY = new URLSearchParams(window.location.search);

const linkOf = () => {
  const query = new URLSearchParams(window.location.search);
  [...CONTROL_NAMES, 'recorded', 'beat'].forEach((name) => query.delete(name));
  if (state.recorded) query.set('recorded', state.recorded.name);
  else Object.entries(askedFor(state.trace)).forEach(([name, value]) => { if (value !== null && value !== undefined) query.set(name, value); });
  if (hasBeats()) query.set('beat', currentBeat().name);
  return `?${query}`;
};

const LINK_AFTER = 200; // milliseconds without another move: browsers limit how often an address may change

let linkTimer = null;

const writeLink = () => {
  clearTimeout(linkTimer);
  if (!acted) return;
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

const linkedBeat = () => {
  if (!QUERY.has('beat') || state.live || !isLinked()) return null;
  const at = indexOfBeat(state.clock, QUERY.get('beat'));
  QUERY.delete('beat');
  return at;
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
