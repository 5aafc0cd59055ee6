// Present, from the visitor's side: the whole screen and back, and a black one. A clicker moves it, a full stop blanks the screen.

import { tell } from '../state/changes.js';
import { part, root } from '../state/host.js';
import { linked, writeLink } from '../state/link.js';
import { isPhone, presenting } from '../state/modes.js';
import { stopPlaying } from '../state/moves.js';
import { state } from '../state/state.js';

// A browser may refuse the whole screen, or know no such thing: the window is large enough then.
const takeScreen = () => { document.documentElement.requestFullscreen?.().catch(() => {}); };

const leaveScreen = () => { if (document.fullscreenElement) document.exitFullscreen().catch(() => {}); };

const drawPresentButton = () => {
  const node = root().querySelector('[data-do="present"]');
  node.textContent = presenting.on ? 'Leave' : 'Present';
  node.title = presenting.on ? 'back to the whole page (F, Esc)' : 'only this step, large (F)';
};

/** @type {(on: boolean) => void} */
export const setPresenting = (on) => {
  if (on === presenting.on || state.trace === null || (on && isPhone())) return;
  if (on) presenting.back = document.activeElement;
  presenting.on = on;
  stopPlaying();
  document.body.classList.toggle('sv-presenting', on);
  drawPresentButton();
  tell('size');
  if (on) takeScreen();
  else leaveScreen();
  (on ? root().querySelector('[data-do="play"]') : presenting.back)?.focus?.({ preventScroll: true });
  part('aloud').textContent = on ? 'Only this step is shown. Escape goes back to the whole page.' : 'The whole page is shown.';
  writeLink();
};

// A link asks for it once, when its run is on screen.
export const presentIfLinked = () => {
  if (presenting.asked || linked('present') !== '1') return;
  presenting.asked = true;
  setPresenting(true);
};

// --- black, with nothing to read, until the next key or press

/** @type {(on: boolean) => void} */
export const setBlank = (on) => {
  if (on === presenting.blank || (on && !presenting.on)) return;
  presenting.blank = on;
  if (on) stopPlaying();
  document.body.classList.toggle('sv-blank', on);
  part('aloud').textContent = on ? 'The screen is blank. Any key brings it back.' : 'The screen is back.';
};

const wakeUp = (event) => {
  if (!presenting.blank) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  setBlank(false);
};

export const listenToPresenter = () => {
  ['keydown', 'pointerdown'].forEach((kind) => window.addEventListener(kind, wakeUp, { capture: true }));
  // The browser keeps for itself the Esc that ends a full screen.
  document.addEventListener('fullscreenchange', () => { if (!document.fullscreenElement) setPresenting(false); });
};
