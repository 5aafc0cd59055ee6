// All that one beat shows. Everything else here is drawn by the part whose name it has; this says in which order.

import { beatsOfStep, beatWords, cellOfBeat, countsAt, kindOf, viewOf } from '../run/beats.js';
import { cellsOf, isFinal, sameCell, STATES } from '../run/cells.js';
import { announce, shareSpot } from '../state/bridge.js';
import { part, root } from '../state/host.js';
import { currentStep, currentView, game, isAsking, isPredicting, kindShown, shownCell, stepOf } from '../state/reveal.js';
import { currentBeat, hasBeats, state } from '../state/state.js';
import { drawComparison } from './comparison.js';
import { make } from './dom.js';
import { drawEndCard, sayEnd } from './endcard.js';
import { drawLegend, drawNewest, drawPast, forgetRows, openStep } from './grid.js';
import { drawInspector } from './inspector/inspector.js';
import { drawLine } from './line.js';
import { drawNotes } from './notes.js';
import { drawPredict, sayPrediction } from './predict.js';
import { cachedOutput, drawRibbon, ribbonAt } from './ribbon.js';
import { drawSkyline, markSkyline } from './skyline.js';
import { drawSpeed, drawSpeedLine, markChart } from './speed.js';
import { drawStepClock } from './stepclock.js';
import { drawWhere, sayBeat } from './transport.js';

// Up to which kind of beat a cell may be told: all of it in an earlier step, as far as the beat has got in the present one.
const toldOf = (step, chosen) => {
  const cell = cellsOf(step).find((each) => sameCell(each, chosen));
  const view = step.step < currentBeat().step ? viewOf(step, beatsOfStep(step).at(-1)) : currentView();
  return kindShown(cell, kindOf(step, view, cell));
};

export const drawInspected = () => {
  const cell = shownCell();
  const spot = cell && { step: cell.step, position: cell.position, state: cell.state };
  shareSpot(spot);
  const step = cell && stepOf(cell.step);
  const trace = { ...state.trace, steps: state.trace.steps.map((each) => (each.step === step?.step ? step : each)) };
  drawInspector(part('details'), trace, spot, cell && toldOf(step, cell));
  root().querySelectorAll('.sv-chosen').forEach((node) => node.classList.remove('sv-chosen'));
  if (!cell) return;
  root().querySelectorAll(`[data-step="${cell.step}"][data-position="${cell.position}"]`).forEach((node) => {
    const isOfKind = isFinal(cell) === 'final' in node.dataset || node.classList.contains('sv-out');
    if (isOfKind) node.classList.toggle('sv-chosen', isNodeOf(node, cell));
  });
};

// A cell in the document carries its state only once that has been revealed.
const isNodeOf = (node, cell) => node.dataset.state === cell.state || (!(node.dataset.state in STATES) && !isFinal(cell));

// The row that the beat is about, clear of what is fixed at a phone's foot.
export const keepInView = () => part('open').querySelector('.sv-chosen')?.scrollIntoView({ block: 'nearest' });

const scrollDown = (place) => { place.scrollTop = place.scrollHeight; };

const pastSteps = () => state.trace.steps.filter((step) => step.step < currentBeat().step);

export const drawScrolled = () => drawPast(part('past'), state.trace, pastSteps(), part('past').scrollTop);

export const resized = () => {
  if (!hasBeats()) return;
  forgetRows(part('grid'), state.trace);
  drawNewest(part('past'), state.trace, pastSteps());
};

const drawGrid = (step, view) => {
  const grid = part('grid');
  if (grid.dataset.run !== state.trace.run_id) forgetRows(grid, state.trace);
  const focused = document.activeElement?.closest?.('.sv-now .sv-cell');
  const place = focused && [...part('open').querySelectorAll('.sv-cell')].indexOf(focused);
  part('open').replaceChildren(openStep(state.trace, step, view, cellOfBeat(step, currentBeat())?.position ?? 1));
  if (focused) part('open').querySelectorAll('.sv-cell')[place]?.focus({ preventScroll: true });
  grid.setAttribute('aria-rowcount', step.step);
};

export const drawBeat = () => {
  drawKeptBack();
  const beat = currentBeat();
  const step = currentStep();
  const view = currentView();
  drawGrid(step, view);
  const output = cachedOutput(state.trace);
  const revealed = ribbonAt(output, step, view, beat);
  drawRibbon(part('ribbon'), state.trace, output, revealed);
  drawComparison(part('both'), part('ribbon'), revealed.length);
  drawStepClock(part('clock'), state.trace, state.figures, step, view);
  if (isPredicting()) part('clock').hidden = true; // its scale would tell how many tokens are to come
  const counts = countsAt(state.clock, state.at, step);
  drawLegend(part('legend'), counts);
  drawSpeedLine(part('sofar'), counts, state.live || isPredicting() ? null : state.trace.steps.at(-1)?.totals);
  drawWhere(part('where'), state.trace, beat);
  markSkyline(part('skyline'), beat, `step ${beat.step}, ${beatWords(beat)}`);
  markChart(beat.step);
  drawLine();
  drawNotes();
  drawInspected();
  drawPredict();
  drawEndCard();
  drawNewest(part('past'), state.trace, pastSteps()); // the first to ask for a layout
  scrollDown(part('ribbon'));
};

export const drawWithoutSteps = () => {
  shareSpot(null);
  drawPredict();
  drawEndCard();
  ['open', 'clock', 'legend', 'sofar', 'where', 'skyline'].forEach((name) => part(name).replaceChildren());
  part('past').firstElementChild.replaceChildren();
  drawLine();
  part('details').replaceChildren(make('p', 'sv-hint', 'This run has no step.'));
  drawRibbon(part('ribbon'), state.trace, cachedOutput(state.trace), { length: 0, struck: [], waiting: [] });
};

// A beat in words, but for what is being asked at it.
/** @type {() => string} */
export const sayNow = () =>
  [isAsking() ? '' : sayBeat(state.trace, currentStep(), currentBeat()), sayPrediction(), sayEnd()].join(' ').trim();

// --- what predicting keeps back ---------------------------------------------------------------------------------------------

export const drawSkylineNow = () =>
  drawSkyline(part('skyline'), state.trace, isPredicting() && hasBeats() ? state.clock.beats[game().reached].step : null);

export const drawFigures = () => {
  if (isPredicting())
    part('speed').replaceChildren(make('p', 'sv-hint', 'The figures of the whole run come at its end, or when you stop predicting.'));
  else drawSpeed(part('speed'), state.trace, state.figures);
};

// What of the whole run is on the page; while predicting, what has been revealed of it.
const drawKeptBack = () => {
  const before = document.body.classList.contains('sv-predicting');
  document.body.classList.toggle('sv-predicting', isPredicting());
  if (before === isPredicting()) {
    if (before) drawSkylineNow();
    return;
  }
  part('skyline').dataset.run = '';
  drawSkylineNow();
  drawFigures();
  root().querySelectorAll('.sv-jumps button').forEach((node) => node.setAttribute('aria-disabled', isPredicting()));
  announce('predicting');
};
