// Present: only the current step, large enough for the last row of a room. A clicker moves it, a full stop blanks the screen.

const BIG_CELLS = 5; // above that many drafts the others are chips

const presenting = { on: false, asked: false, blank: false, back: null };

const isPresenting = () => presenting.on;

LINK_SAYS.present = () => (isPresenting() ? '1' : null);

// The first of the big cells, so that the coin's stands in their middle where it can. Positions count from 1.
const firstBig = (k, position) => Math.max(1, Math.min(position - Math.floor(BIG_CELLS / 2), k - BIG_CELLS + 1));

// Whether a draft is one of the big cells; everywhere but in Present all of them are.
const isBig = (step, focus, position) => {
  if (!isPresenting()) return true;
  const first = firstBig(step.k, focus);
  return position >= first && position < first + BIG_CELLS;
};

const atStepEnd = () => state.at === state.clock.ends[currentBeat().step];

// A browser may refuse the whole screen, or know no such thing: the window is large enough then.
const takeScreen = () => { document.documentElement.requestFullscreen?.().catch(() => {}); };

const leaveScreen = () => { if (document.fullscreenElement) document.exitFullscreen().catch(() => {}); };

const drawPresentButton = () => {
  const node = root.querySelector('[data-do="present"]');
  node.textContent = presenting.on ? 'Leave' : 'Present';
  node.title = presenting.on ? 'back to the whole page (F, Esc)' : 'only this step, large (F)';
};

const setPresenting = (on) => {
  if (on === presenting.on || state.trace === null || (on && isPhone())) return;
  if (on) presenting.back = document.activeElement;
  presenting.on = on;
  stopPlaying();
  document.body.classList.toggle('sv-presenting', on);
  drawPresentButton();
  resized();
  if (hasBeats()) drawBeat();
  if (on) takeScreen();
  else leaveScreen();
  (on ? root.querySelector('[data-do="play"]') : presenting.back)?.focus?.({ preventScroll: true });
  part('aloud').textContent = on ? 'Only this step is shown. Escape goes back to the whole page.' : 'The whole page is shown.';
  writeLink();
};

// A link asks for it once, when its run is on screen.
const presentIfLinked = () => {
  if (presenting.asked || linked('present') !== '1') return;
  presenting.asked = true;
  setPresenting(true);
};

// --- black, with nothing to read, until the next key or press

const setBlank = (on) => {
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

const listenToPresenter = () => {
  ['keydown', 'pointerdown'].forEach((kind) => window.addEventListener(kind, wakeUp, { capture: true }));
  // The browser keeps for itself the Esc that ends a full screen.
  document.addEventListener('fullscreenchange', () => { if (!document.fullscreenElement) setPresenting(false); });
};
