// Clicks and keys. Keys act unless a text field, a menu or a slider has the focus, and leave Space and Enter to a focused button.

import { cellsOf, isFinal } from '../run/cells.js';
import { askForUndo, onTold, openFile } from '../state/bridge.js';
import { part, root } from '../state/host.js';
import { address } from '../state/link.js';
import { isPresenting } from '../state/modes.js';
import { choose, endCaptions, moveBy, moveTo, moveToCell, moveToNext, moveToStep, setSpeed, togglePlay } from '../state/moves.js';
import { predicting, stepOf } from '../state/reveal.js';
import { currentBeat, hasBeats, lastBeat, state } from '../state/state.js';
import { drawScrolled } from '../draw/beat.js';
import { drawControls } from '../draw/controls.js';
import { bestStep, closeEndCard } from '../draw/endcard.js';
import { markChart } from '../draw/speed.js';
import { showRun } from './arrival.js';
import { putBack, runBranch } from './branch.js';
import { closeSheet, closeTop, openSheet, toggleFold } from './phone.js';
import { answer, setPredicting } from './predict.js';
import { setBlank, setPresenting } from './present.js';
import { openRace } from './race.js';
import { openShare } from './share.js';

const DOES = {
  first: () => moveTo(0),
  back: () => moveBy(-1),
  play: () => togglePlay(),
  forward: () => moveBy(1),
  rejection: () => moveToNext('rejected'),
  bonus: () => moveToNext('bonus'),
  captions: () => endCaptions(),
  branch: () => runBranch(),
  putBack: () => putBack(),
  original: () => showRun('original'),
  fork: () => showRun('branch'),
  race: () => openRace(),
  help: () => part('help').showModal(),
  share: () => openShare(),
  predict: () => setPredicting(!predicting.on),
  best: () => moveToStep(bestStep(state.trace)),
  replay: () => replay(),
  closecard: () => closeEndCard(),
  present: () => setPresenting(!isPresenting()),
  menu: () => toggleFold('menu'),
};

const replay = () => {
  moveTo(0);
  togglePlay();
};

// --- keys

const KEYS = {
  ' ': () => togglePlay(),
  ArrowRight: (event) => moveBy(1, event.shiftKey ? 'step' : state.speed),
  ArrowLeft: (event) => moveBy(-1, event.shiftKey ? 'step' : state.speed),
  PageDown: () => moveBy(1),
  PageUp: () => moveBy(-1),
  Home: () => moveTo(0),
  End: () => hasBeats() && moveTo(lastBeat()),
  n: () => moveToNext('rejected'),
  b: () => moveToNext('bonus'),
  p: () => setPredicting(!predicting.on),
  a: () => answer('accept'),
  r: () => answer('reject'),
  f: () => setPresenting(!isPresenting()),
  '.': () => setBlank(true),
  Escape: () => { if (!closeTop()) escape(); },
  '?': () => part('help').showModal(),
};

const escape = () => {
  if (closeEndCard()) return;
  if (isPresenting()) setPresenting(false);
  else endCaptions();
};

const typing = (target) =>
  target.closest?.('input, textarea, select, [contenteditable], [role="listbox"], [role="slider"]:not([data-part="skyline"]), dialog');

const ownsKey = (target, key) =>
  (key === ' ' || key === 'Enter') && target.closest?.('button, a, summary, [role="button"], [role="gridcell"]');

const pressKey = (event) => {
  const isTheirs = event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey;
  if (isTheirs || root().offsetParent === null || typing(event.target) || ownsKey(event.target, event.key)) return;
  const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act || state.trace === null) return;
  event.preventDefault();
  act(event);
};

// Inside the grid: up and down go from row to row, Enter or Space chooses a cell.
const pressInGrid = (event) => {
  const node = event.target.closest('.sv-cell');
  if (!node) return;
  if (event.key === 'Enter' || event.key === ' ') chooseNode(node);
  else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') focusRow(node, event.key === 'ArrowDown' ? 1 : -1);
  else return;
  event.preventDefault();
};

// --- cells and tokens

const chooseNode = (node) => {
  if (!node.dataset.position) return;
  const cell = cellsOf(stepOf(Number(node.dataset.step))).find((each) => each.position === Number(node.dataset.position)
    && isFinal(each) === 'final' in node.dataset);
  choose(cell);
  openSheet(node);
};

const focusRow = (node, direction) => {
  const rows = [...part('grid').querySelectorAll('.sv-step')];
  const row = node.closest('.sv-step');
  const cells = [...(rows[rows.indexOf(row) + direction]?.querySelectorAll('.sv-cell') ?? [])];
  const next = cells[Math.min([...row.querySelectorAll('.sv-cell')].indexOf(node), cells.length - 1)];
  next?.focus();
};

const goToToken = (node) => {
  const { step, position, state: kind } = node.dataset;
  const cell = cellsOf(stepOf(Number(step))).find(
    (each) => each.position === Number(position) && (each.state === kind || !isFinal(each)),
  );
  if (kind === 'ghost' || kind === 'struck') choose(cell);
  else moveToCell(cell);
};

const fold = () => {
  const open = part('fold').getAttribute('aria-expanded') !== 'true';
  part('fold').setAttribute('aria-expanded', open);
  part('speed').hidden = !open;
  document.body.classList.toggle('sv-unfolded', open);
  window.dispatchEvent(new Event('resize')); // plotly measures its place
  if (open && hasBeats()) markChart(currentBeat().step);
};

// --- the skyline: where one clicks or drags, the player goes

const stepUnder = (place, event) => {
  const box = place.getBoundingClientRect();
  const share = Math.min(0.999, Math.max(0, (event.clientX - box.left) / box.width));
  const node = [...place.children].findLast((each) => each.offsetLeft - place.offsetLeft <= share * box.width) ?? place.firstElementChild;
  return node ? Number(node.dataset.column) : null;
};

const listenToSkyline = (place) => {
  const scrub = (event) => {
    const step = stepUnder(place, event);
    if (step !== null && (event.type === 'pointerdown' || currentBeat().step !== step)) moveToStep(step);
  };
  place.addEventListener('pointerdown', (event) => {
    place.setPointerCapture(event.pointerId);
    scrub(event);
  });
  place.addEventListener('pointermove', (event) => { if (place.hasPointerCapture(event.pointerId)) scrub(event); });
};

// --- the page around the player

// Files dropped anywhere go the way of the button "Open a trace".
const dropFile = (event) => {
  const [file] = event.dataTransfer?.files ?? [];
  if (file && openFile(file)) event.preventDefault();
};

// The settings under More lie over the page: a press elsewhere folds them away.
const foldMore = (event) => {
  const more = document.querySelector('#more');
  if (more && !more.contains(event.target)) more.querySelector('.label-wrap.open')?.click();
};

// Gradio's button "undo": the controls as they were for the run on screen.
const undo = (event) => {
  if (state.trace !== null && event.target.closest?.('#back')) askForUndo(state.asked);
};

// --- listening

const click = (event) => {
  const on = (selector) => event.target.closest(selector);
  if (on('[data-close]')) closeSheet();
  else if (on('[data-do]')) DOES[on('[data-do]').dataset.do]();
  else if (on('[data-speed]')) setSpeed(on('[data-speed]').dataset.speed);
  else if (on('[data-next]')) moveToNext(on('[data-next]').dataset.next);
  else if (on('[data-part="fold"]')) fold();
  else if (on('.sv-cell')) chooseNode(on('.sv-cell'));
  else if (on('.sv-out')) goToToken(on('.sv-out'));
};

// The row with the focus is the one that Tab goes back to.
const focusPast = (event) => {
  part('past').querySelectorAll('.sv-cell').forEach((node) => {
    node.tabIndex = node.closest('.sv-step').contains(event.target) ? 0 : -1;
  });
};

export const listenToPlayer = () => {
  element.addEventListener('click', click);
  element.addEventListener('keydown', pressInGrid);
  document.addEventListener('keydown', pressKey);
  part('past').addEventListener('scroll', () => hasBeats() && drawScrolled(), { passive: true });
  part('past').addEventListener('focusin', focusPast);
  listenToSkyline(part('skyline'));
};

export const listenToPage = () => {
  onTold('controls', drawControls);
  document.addEventListener('click', undo);
  ['pointerdown', 'keydown'].forEach((kind) => document.addEventListener(kind, () => { address.acted = true; }, { capture: true }));
  document.addEventListener('dragover', (event) => { if (event.dataTransfer?.types.includes('Files')) event.preventDefault(); });
  document.addEventListener('drop', dropFile);
  document.addEventListener('pointerdown', foldMore);
};
