// The steps as a grid: those before the present one compact, the present one open and only as far as it has been revealed.

import { ALONE, cellsOf, coinMatters, coinName, finalsOf, inOutput, isFinal, stateOf, STATES, survives } from '../run/cells.js';
import { WHY_FEWER } from '../run/cells.js';
import { apart, count, number } from '../run/numbers.js';
import { nameOf } from '../run/tokens.js';
import { BIG_CELLS, isBig, isPhone, isPresenting } from '../state/modes.js';
import { stageShown } from '../state/reveal.js';
import { make, putInOrder, ruler, tokenNode } from './dom.js';

/** @import { Counts, Step, Trace, View } from '../run/types.js' */

// Draft positions in one line; above that a step wraps.
const lineLength = () => (isPresenting() ? BIG_CELLS : isPhone() ? 4 : 8);

const GLYPHLESS = { empty: '', drafted: '', verified: '', threshold: '' };

// What may be said of a cell at its stage, for those who hear the page.
const spoken = (trace, cell, stage) => {
  const where = `step ${cell.step}, position ${cell.position}`;
  if (stage === 'empty') return `${where}, empty`;
  const told = [where, nameOf(trace.tokens, cell.id)];
  if (stage === 'decided') told.push(stateOf(cell).word);
  if (cell.q !== null && cell.state !== 'bonus') told.push(`q ${number(cell.q)}`);
  if (stage !== 'drafted' && cell.p !== null) told.push(`p ${number(cell.p)}`);
  if (stage === 'threshold') told.push(survives(cell));
  if (stage === 'decided' && wasTossed(cell)) told.push(survives(cell), `${coinName(cell)} ${number(cell.coin)}`);
  return told.join(', ');
};

const wasTossed = (cell) => cell.coin !== null && cell.coin !== undefined;

const probabilities = (cell, stage) => {
  const p = stage === 'drafted' ? null : cell.p;
  return make('div', 'sv-pq',
    isFinal(cell) ? null : make('span', 'sv-q', `q ${number(cell.q)}`),
    p === null ? null : make('span', 'sv-p', `p ${number(p)}`));
};

const note = (...parts) => make('div', 'sv-note', ...parts);

const footnote = (cell) => {
  if (cell.state === 'discarded') return STATES.discarded.word;
  if (cell.alone) return "the target's own draw";
  if (cell.state === 'bonus') return 'one more, free';
  if (cell.fallback) return 'drawn from p: nothing was owed';
  return `owed share ${number(cell.share)}`;
};

// The lines under p and q. Those that are not there yet keep their place, so that nothing moves when they come.
const bodyOf = (cell, stage) => {
  if (stage === 'threshold') return [ruler(cell.ratio, null, true), note(make('span', 'sv-chance', survives(cell)))];
  if (stage !== 'decided') return [make('div', 'sv-no-ruler'), note()];
  if (!wasTossed(cell)) return [make('div', 'sv-no-ruler'), note(make('span', '', footnote(cell)))];
  const [coin] = cell.ratio < 1 ? apart(cell.coin, cell.ratio) : [number(cell.coin)];
  return [
    ruler(cell.ratio, cell.coin, coinMatters(cell)),
    note(make('span', 'sv-chance', survives(cell).replace('survives ', '')), make('span', 'sv-coin', `${coinName(cell)} ${coin}`)),
  ];
};

const cellNode = (trace, cell, stage, ...body) => {
  const told = stage === 'decided' ? cell.state : stage;
  const node = make('div', `sv-cell sv-${told}`, ...body);
  node.setAttribute('role', 'gridcell');
  node.setAttribute('aria-label', spoken(trace, cell, stage));
  if (stage !== 'empty') node.title = nameOf(trace.tokens, cell.id);
  Object.assign(node.dataset, { step: cell.step, position: cell.position, state: told });
  if (isFinal(cell)) node.dataset.final = '';
  if (cell.alone && stage === 'decided') node.dataset.alone = '';
  return node;
};

const headOf = (trace, cell, stage) => make('div', 'sv-head', tokenNode(trace.tokens, cell.id),
  make('span', 'sv-glyph', GLYPHLESS[stage] ?? stateOf(cell).glyph));

const openCell = (trace, cell, stage) => {
  const node = stage === 'empty'
    ? cellNode(trace, cell, stage, make('span', 'sv-slot', String(cell.position)))
    : cellNode(trace, cell, stage, headOf(trace, cell, stage), probabilities(cell, stage), ...bodyOf(cell, stage));
  node.tabIndex = 0;
  return node;
};

const compactCell = (trace, cell) => {
  const node = cellNode(trace, cell, 'decided', headOf(trace, cell, 'decided'));
  node.tabIndex = -1;
  return node;
};

// A cell too far from the coin to be large, in Present.
const chip = (trace, cell, stage) => {
  const node = cellNode(
    trace,
    cell,
    stage,
    stage === 'empty' ? make('span', 'sv-slot', String(cell.position)) : headOf(trace, cell, stage),
  );
  node.tabIndex = 0;
  return node;
};

const CHIPS = 8; // in one line

// A place for every draft, so that none moves; those that are large elsewhere leave theirs open.
const chips = (trace, step, view, cells, big) => {
  const note = fewerNote(trace, step);
  note?.style.setProperty('--after', (step.k % CHIPS) + 1);
  return presentation(make('div', 'sv-chips', ...cells.map((cell) => (
    big.includes(cell) ? make('div', 'sv-large') : chip(trace, cell, stageShown(step, view, cell)))), note));
};

// The slot of the target's own token before it is drawn.
const finalSlot = (step, view) => {
  const node = make('div', 'sv-cell sv-empty-final', make('span', 'sv-slot', view.verified ? 'p is ready' : ''));
  node.setAttribute('role', 'gridcell');
  node.setAttribute('aria-label', `step ${step.step}, the target's own token, ${view.verified ? 'its p is ready' : 'empty'}`);
  node.dataset.final = '';
  node.dataset.step = step.step;
  return node;
};

const fewerNote = (trace, step) => {
  if (step.k === trace.settings.k || !step.k_reason) return null;
  const node = make('div', 'sv-fewer', `${step.k === 0 ? 'nothing drafted' : `only ${step.k} drafted`}: ${WHY_FEWER[step.k_reason]}`);
  node.style.setProperty('--after', (step.k % lineLength()) + 1);
  return node;
};

const rowLabel = (step, gained) => {
  const label = make('div', 'sv-number', make('b', '', String(step.step)), gained === null ? null : make('small', '', `+${gained}`));
  label.setAttribute('role', 'rowheader');
  label.setAttribute('aria-label', `step ${step.step}${gained === null ? '' : `, ${count(gained, 'token', 'tokens')}`}`);
  return label;
};

const noFinal = () => make('div', 'sv-none', 'none: the end token was kept');

const presentation = (node) => {
  node.setAttribute('role', 'presentation');
  return node;
};

const rowNode = (className, step, label, drafts, finals) => {
  const row = make('div', className,
    label,
    presentation(make('div', 'sv-drafts', ...drafts)),
    presentation(make('div', 'sv-finals', ...finals)),
  );
  row.setAttribute('role', 'row');
  row.setAttribute('aria-rowindex', step.step);
  row.dataset.row = step.step;
  return row;
};

const compactStep = (trace, step) => {
  const cells = cellsOf(step);
  const nodes = (wanted) => cells.filter((cell) => isFinal(cell) === wanted).map((cell) => compactCell(trace, cell));
  const finals = nodes(true);
  return rowNode('sv-step sv-compact', step, rowLabel(step, cells.filter(inOutput).length), [...nodes(false), fewerNote(trace, step)],
    finals.length ? finals : [noFinal()]);
};

// `focus` is the position that the beat is about.
/** @type {(trace: Trace, step: Step, view: View, focus: number) => HTMLElement} */
export const openStep = (trace, step, view, focus) => {
  const cells = cellsOf(step).filter((cell) => !isFinal(cell));
  const big = cells.filter((cell) => isBig(step, focus, cell.position));
  const drafts = big.map((cell) => openCell(trace, cell, stageShown(step, view, cell)));
  const finals = view.drawn ? finalsOf(step).map((cell) => openCell(trace, cell, 'decided')) : [finalSlot(step, view)];
  const nothingDue = view.walked && !step.final && !view.drawn;
  const inChips = isPresenting() && trace.settings.k > BIG_CELLS;
  const [list, last] = isPhone() ? asList(step, view, drafts, finals) : [drafts, finals];
  const row = rowNode(
    'sv-step sv-open',
    step,
    rowLabel(step, null),
    [...list, inChips ? null : fewerNote(trace, step)],
    nothingDue ? [noFinal()] : last,
  );
  if (inChips) row.append(chips(trace, step, view, cells, big));
  row.toggleAttribute('data-wrapped', trace.settings.k > lineLength());
  if (view.verified) row.append(passBracket(step));
  if (view.owed && !isPhone()) row.append(connector(trace, step, big));
  return row;
};

const passBracket = (step) =>
  presentation(make('div', 'sv-bracket', make('span', '', `one target pass, ${count(step.k + 1, 'row', 'rows')} of p`)));

const connector = (trace, step, shown) => {
  const at = shown.findIndex((cell) => cell.state === 'rejected');
  const node = presentation(make('div', 'sv-connector', make('span', '', 'takes its place')));
  node.style.setProperty('--from', Math.max(0, at) % lineLength());
  return node;
};

/** @type {(place: HTMLElement, trace: Trace) => void} */
export const drawHeading = (place, trace) => {
  const { k } = trace.settings;
  const proposes = k === 0 ? 'nothing is drafted (K = 0)' : `draft proposes 1${k > 1 ? ` … ${k}` : ''}`;
  place.replaceChildren(make('span', '', 'step'), make('span', '', proposes), make('span', '', "the target's own token"));
};

// Compact rows never change, so each is made once; only those in view are in the document.
const compactRows = new Map();

let rowHeight = 0; // pixels; measured for each run, and when the window changes

const measureRows = (place) => {
  const style = getComputedStyle(place);
  const [cell, gap, lines] = ['--cell', '--gap', '--lines'].map((name) => parseFloat(style.getPropertyValue(name)));
  rowHeight = lines * (cell + gap);
};

/** @type {(place: HTMLElement, trace: Trace, past: Step[], top: number) => void} */
export const drawPast = (place, trace, past, top) => {
  const rows = place.firstElementChild;
  rows.style.height = `${past.length * rowHeight}px`;
  const first = Math.max(0, Math.floor(top / rowHeight) - 2);
  const shown = past.slice(first, first + Math.ceil(place.clientHeight / rowHeight) + 4);
  const nodes = shown.map((step, i) => {
    if (!compactRows.has(step.step)) compactRows.set(step.step, compactStep(trace, step));
    const node = compactRows.get(step.step);
    node.style.top = `${(first + i) * rowHeight}px`;
    return node;
  });
  putInOrder(rows, nodes);
};

// The newest row at the bottom. Heights are set first, so that the browser lays out once.
/** @type {(place: HTMLElement, trace: Trace, past: Step[]) => void} */
export const drawNewest = (place, trace, past) => {
  const height = past.length * rowHeight;
  place.firstElementChild.style.height = `${height}px`;
  const top = Math.max(0, height - place.clientHeight);
  place.toggleAttribute('data-more', top > 0);
  drawPast(place, trace, past, top);
  place.scrollTop = top;
};

/** @type {(grid: HTMLElement, trace: Trace) => void} */
export const forgetRows = (grid, trace) => {
  compactRows.clear();
  grid.dataset.run = trace.run_id;
  const columns = Math.max(1, Math.min(lineLength(), trace.settings.k));
  grid.style.setProperty('--k', columns);
  grid.style.setProperty('--lines', Math.max(1, Math.ceil(trace.settings.k / lineLength())));
  grid.toggleAttribute('data-dense', columns > 5);
  measureRows(grid);
};

const legendKey = (cellState, { glyph, many }) => {
  const node = make('button', `sv-key sv-${cellState}`, make('span', 'sv-glyph', glyph), make('b'), many);
  node.type = 'button';
  node.dataset.next = cellState;
  node.title = `go to the next: ${many}`;
  return node;
};

/** @type {(place: HTMLElement, counts: Counts) => void} */
export const drawLegend = (place, counts) => {
  const kinds = counts.alone ? { ...STATES, alone: ALONE } : STATES;
  if (place.children.length !== Object.keys(kinds).length)
    place.replaceChildren(...Object.entries(kinds).map(([name, kind]) => legendKey(name, kind)));
  [...place.children].forEach((node) => {
    node.querySelector('b').textContent = counts[node.dataset.next];
  });
};

// The replacement stands under the row that it replaces; a bonus, and what is not drawn yet, at the end.
const asList = (step, view, drafts, finals) => {
  const at = step.drafts.findIndex((draft) => draft.state === 'rejected');
  if (!view.walked || at < 0 || step.final?.kind !== 'residual') return [drafts, finals];
  finals.forEach((node) => node.classList.add('sv-indented'));
  return [[...drafts.slice(0, at + 1), ...finals, ...drafts.slice(at + 1)], []];
};
