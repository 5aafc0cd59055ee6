// The link: what the query string said when the page opened, and what it says of the run on screen. It is written only after
// somebody did something, because the server reads it when the page opens.

import { indexOfBeat, PAUSES } from '../run/beats.js';
import { recordedRoot } from './branches.js';
import { controlNames } from './controls.js';
import { root } from './host.js';
import { isPresenting, isStandalone } from './modes.js';
import { predicting } from './reveal.js';
import { currentBeat, hasBeats, state } from './state.js';

export const address = {
  query: new URLSearchParams(), // what the link said; a name is taken out once it has been followed
  acted: false, // whether somebody did something
  beatUnknown: false, // the link named a beat that its run does not have
  timer: null,
};

// A standalone file carries its own query.
/** @type {() => void} */
export const readLink = () => {
  address.query = new URLSearchParams(root().dataset.query ?? window.location.search);
  predicting.on = linked('predict') === '1';
  if (Object.hasOwn(PAUSES, linked('speed') ?? '')) state.speed = linked('speed');
};

// What the link asked for under a name, as text, or null where it says nothing of it.
/** @type {(name: string) => ?string} */
export const linked = (name) => address.query.get(name);

export const TASK_LENGTH = 200; // characters

export const LABEL_LENGTH = 60;

// The same on one line and not longer than it may be: whatever a link holds, it is shown as text.
/** @type {(name: string, most: number) => string} */
export const linkedText = (name, most) => cutText(linked(name) ?? '', most);

/** @type {(text: string, most: number) => string} */
export const cutText = (text, most) => Array.from(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()).slice(0, most).join('');

// The names in a list such as lock=k,seed, of those that there are.
/** @type {(name: string, known: string[]) => string[]} */
export const linkedNames = (name, known) => (linked(name) ?? '').split(',').filter((each) => known.includes(each));

/** @type {() => string} */
export const linkedTask = () => linkedText('task', TASK_LENGTH);

// --- what it says

// What a link says beside the settings, by name: functions that return a text, or null to say nothing. A name that stands in the
// address and is not here (task, lock, hide, label, tab) stays in it.
const LINK_SAYS = {
  recorded: () => state.recorded?.name ?? recordedRoot(state.trace),
  beat: () => (hasBeats() ? currentBeat().name : null),
  predict: () => (predicting.on ? '1' : null),
  speed: () => (state.speed === 'normal' ? null : state.speed),
  // Of a branch, the link runs the parent first.
  fp: () => (state.recorded || state.trace.settings.overrides.length > 0 ? null : state.fingerprint),
  branch: () => state.trace.settings.overrides.map((each) => each.join('.')).join(',') || null,
  present: () => (isPresenting() ? '1' : null),
};

/** @type {() => string} */
export const linkOf = () => {
  const query = new URLSearchParams(window.location.search);
  controlNames().forEach((name) => query.delete(name));
  const settings = state.recorded ? {} : state.asked;
  const said = Object.entries(LINK_SAYS).map(([name, says]) => [name, says()]);
  [...Object.entries(settings), ...said].forEach(([name, value]) => {
    if (value === null || value === undefined) query.delete(name);
    else query.set(name, value);
  });
  return `?${query}`;
};

/** @type {(query: string) => string} */
export const fullLink = (query) => `${window.location.origin}${window.location.pathname}${query}`;

const LINK_AFTER = 200; // milliseconds without another move: browsers limit how often an address may change

/** @type {() => void} */
export const writeLink = () => {
  clearTimeout(address.timer);
  if (!address.acted || isStandalone()) return;
  address.timer = setTimeout(() => {
    if (state.trace !== null && !state.live && !state.playing) window.history.replaceState(window.history.state, '', linkOf());
  }, LINK_AFTER);
};

// --- following it

// Whether the run on screen is the one that the page's link is about: it then stands at the link's beat.
/** @type {() => boolean} */
export const isLinked = () => {
  if (address.query.has('recorded')) return state.recorded?.name === address.query.get('recorded');
  if (!controlNames().some((name) => address.query.has(name))) return true;
  const isAsAsked = (name) => !address.query.has(name) || String(state.asked[name]) === address.query.get(name);
  return state.recorded === null && controlNames().every(isAsAsked);
};

// A beat's name can be right in another run of the same settings: its step is what has to be here.
const hasBeat = (clock, name) => indexOfBeat(clock, name) !== null && clock.starts[name.split('.')[0]] !== undefined;

/** @type {() => ?number} */
export const linkedBeat = () => {
  if (!address.query.has('beat') || state.live || !isLinked()) return null;
  const name = address.query.get('beat');
  address.query.delete('beat');
  address.beatUnknown = !hasBeat(state.clock, name);
  return address.beatUnknown ? 0 : indexOfBeat(state.clock, name);
};
