// The bridge between the player and the page around it: every window global, every event on `window` and every element of Gradio's
// that a script here reads or presses. The page's side of it is in `specviz/ui/*_tab.py`.
//
// Events, all of them `specviz:NAME` on window:
//   from the server's answers   controls, loaded, rest     from the tabs        exactness, learn
//   from the player             run, predicting, arrived   from other scripts   beat (Learn), file (the download)

/** @import { Spot, Weights } from '../run/types.js' */

/** @type {(name: string, act: (event: CustomEvent) => void, options?: AddEventListenerOptions) => void} */
export const heard = (name, act, options) => window.addEventListener(`specviz:${name}`, act, options);

// Returns whether nobody called `preventDefault`.
/** @type {(name: string, detail?: any) => boolean} */
export const announce = (name, detail) => window.dispatchEvent(new CustomEvent(`specviz:${name}`, { detail, cancelable: true }));

// --- what the player tells the labs

// What the controls would hold for the run on screen.
/** @type {(settings: object) => void} */
export const shareSettings = (settings) => { window.specvizRun = settings; };

// The cell that the inspector is about, {step, position, state}, or null.
/** @type {(spot: ?Spot) => void} */
export const shareSpot = (spot) => { window.specvizSpot = spot; };

/** @type {() => ?Spot} */
export const sharedSpot = () => window.specvizSpot ?? null;

// --- what the server has told

/** @type {() => any[] | undefined} */
export const controlsNow = () => window.specvizControls;

/** @type {() => {pair: string, target: ?Weights, draft: ?Weights}[]} */
export const loadedPairs = () => (window.specvizLoaded ? JSON.parse(window.specvizLoaded) : []);

// Gradio shows Stop while something is being computed.
/** @type {() => boolean} */
export const isStopShown = () => Boolean(document.querySelector('#stop')?.offsetParent);

// --- what the player asks the server for

/** @type {(change: object) => void} */
export const askForBranch = (change) => {
  window.specvizBranch = JSON.stringify(change);
  document.querySelector('#branch').click();
};

/** @type {(wanted: object) => void} */
export const askForExport = (wanted) => {
  window.specvizExport = JSON.stringify(wanted);
  document.querySelector('#export').click();
};

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

// --- what Learn asks of the player and of the exactness lab

// A beat {recorded, beat} of a recorded run; returns whether that run is on screen, so that nobody has to send it.
/** @type {(wanted: {recorded: string, beat: string}) => boolean} */
export const askForBeat = (wanted) => {
  window.specvizAsked = wanted;
  return !announce('beat');
};

/** @type {() => ?{recorded: string, beat: string}} */
export const beatAskedFor = () => window.specvizAsked ?? null;

// The beat is found: once it has been drawn, whoever asked hears of it.
/** @type {() => void} */
export const foundBeat = () => {
  window.specvizAsked = null;
  setTimeout(() => announce('arrived'));
};

/** @type {(ask: object) => void} */
export const leaveAsk = (ask) => { window.specvizAsk = ask; };

// What was left for the lab; it is taken once.
/** @type {() => ?object} */
export const takeAsk = () => {
  const ask = window.specvizAsk ?? null;
  window.specvizAsk = null;
  return ask;
};
