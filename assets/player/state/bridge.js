// The bridge between the player and what is around it: everything that it asks the server for and is told by the page, the one
// window global, every event on `window`, and every element of Gradio's that a script here reads or presses.
//
// The player asks with Gradio's events of its own component (`specviz/page/step/tab.py` receives them with gr.EventData):
//   branch   {step, position, purpose, u} and where the run is, see `whereabouts`
//   export   {kind, label, calls, query} and where the run is
//   undo     what the controls would hold for the run on screen
// It is told through the props of its component (`onTold`), each of which is JSON text, a flag or a number:
//   value      the run, or its latest steps: see specviz/page/messages.py
//   loaded     which pairs are loaded      computing   whether the server computes something that can be stopped
//   controls   what the controls hold      ended       counts the branches and races that have come to their end
//   facts      what never changes, see facts.js; only read at the start
// Components cannot see each other's props. What one has for another it says by an event `specviz:NAME` on window:
//   From the player: run, predicting, arrived. From Learn: beat. From the download: file. From a tab: opening.
// or, since a tab's component is not there before the tab is opened, leaves it in the one global, `window.specviz`: the cell that
// the inspector is about (spot), what Learn wants of the exactness lab (wanted), and the functions that Gradio's events call by name
// (`assets/page/page.js`).
//
// Elements of Gradio's, by what they are: #run, #race, #prompt and #back are listened to (acts/branch.js, acts/input.js), #open and
// #more are used as a visitor would (here, acts/input.js), #chart is drawn on (draw/speed.js), #tabs and a lab's fields are used by
// Learn and `page.js`, which also names the menu #recorded.

/** @import { Spot, Weights } from '../run/types.js' */

// --- events between components

/** @type {(name: string, act: (event: CustomEvent) => void, options?: AddEventListenerOptions) => void} */
export const heard = (name, act, options) => window.addEventListener(`specviz:${name}`, act, options);

// Returns whether nobody called `preventDefault`.
/** @type {(name: string, detail?: any) => boolean} */
export const announce = (name, detail) => window.dispatchEvent(new CustomEvent(`specviz:${name}`, { detail, cancelable: true }));

// --- what components leave for each other

const meeting = () => {
  window.specviz ??= {};
  return window.specviz;
};

// The functions that Gradio's events call by name.
/** @type {(functions: Object<string, Function>) => void} */
export const offer = (functions) => { Object.assign(meeting(), functions); };

// The cell that the inspector is about, {step, position, state}, or null.
/** @type {(spot: ?Spot) => void} */
export const shareSpot = (spot) => { meeting().spot = spot; };

/** @type {() => ?Spot} */
export const sharedSpot = () => meeting().spot ?? null;

// What Learn wants to see in the exactness lab.
/** @type {(ask: object) => void} */
export const leaveAsk = (ask) => { meeting().wanted = ask; };

// It is taken once.
/** @type {() => ?object} */
export const takeAsk = () => {
  const ask = meeting().wanted ?? null;
  meeting().wanted = null;
  return ask;
};

// --- what the player is told

/** @type {(name: 'value' | 'loaded' | 'controls' | 'computing' | 'ended', act: () => void) => void} */
export const onTold = (name, act) => watch(name, act);

const readTold = (name) => (props[name] ? JSON.parse(props[name]) : null);

/** @type {() => ?object} */
export const factsNow = () => readTold('facts');

/** @type {() => ?object} */
export const messageNow = () => readTold('value');

/** @type {() => ?any[]} */
export const controlsNow = () => readTold('controls');

/** @type {() => {pair: string, target: ?Weights, draft: ?Weights}[]} */
export const loadedPairs = () => readTold('loaded') ?? [];

/** @type {() => boolean} */
export const isServerComputing = () => props.computing === true;

// --- what the player asks the server for

/** @type {(change: object) => void} */
export const askForBranch = (change) => trigger('branch', change);

/** @type {(wanted: object) => void} */
export const askForExport = (wanted) => trigger('export', wanted);

/** @type {(settings: object) => void} */
export const askForUndo = (settings) => trigger('undo', settings);

// A file goes the way of the button "Open a trace".
/** @type {(file: File) => boolean} */
export const openFile = (file) => {
  const input = document.querySelector('#open input[type="file"], input[type="file"]');
  if (!input) return false;
  const files = new DataTransfer();
  files.items.add(file);
  input.files = files.files;
  input.dispatchEvent(new Event('change', { bubbles: true }));
  return true;
};

// --- what the page does with Gradio's tabs

/** @type {(name: string) => void} */
export const openTab = (name) => document.querySelector(`#tabs [role="tab"][data-tab-id="${name}"]`)?.click();
