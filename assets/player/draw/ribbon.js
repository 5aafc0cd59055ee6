// The output as text, each token underlined by who drew it, only as far as it has been revealed.

import { settledCells, stageOf } from '../run/beats.js';
import { cellsOf, inOutput, isFinal, outputOf, sameCell, stateOf, textOf } from '../run/cells.js';
import { nameOf, readable } from '../run/tokens.js';
import { make, putInOrder } from './dom.js';

/** @import { Beat, Cell, Output, Step, Trace, View } from '../run/types.js' */

const LOOK_BACK = 8; // tokens before a ghost that may hold the beginning of its first character

const RIBBON_TOKENS = 600; // a ribbon of two lines needs no more at once

/** @type {(cell: Cell, text: string, name: string, kind: string) => HTMLElement} */
export const ribbonToken = (cell, text, name, kind) => {
  const node = make('span', `sv-out sv-${kind}`, text);
  Object.assign(node.dataset, { step: cell.step, position: cell.position, state: kind });
  node.title = kind === 'ghost' ? `${name}: drafted, not decided yet` : `${name}: ${stateOf(cell).word}, step ${cell.step}`;
  return node;
};

// How much of the output is there at a beat, the drafts that wait for their coins, and the one just struck.
/** @type {(output: Output, step: Step, view: View, beat: Beat) => {length: number, struck: Cell[], waiting: Cell[]}} */
export const ribbonAt = (output, step, view, beat) => {
  const settled = settledCells(step, view).filter(inOutput);
  const before = output.cells.findIndex((cell) => cell.step >= step.step);
  const kept = settled.filter((cell) => output.cells.some((each) => sameCell(each, cell))).length;
  const drafts = cellsOf(step).filter((cell) => !isFinal(cell));
  const struck = beat.kind === 'coin' ? drafts.filter((cell) => cell.position === beat.position && cell.state === 'rejected') : [];
  // Kept by the class's coin, not by the run's.
  const lent = (cell) => cell.by && cell.state === 'accepted' && !output.cells.some((each) => sameCell(each, cell));
  const waiting = drafts.filter((cell) => lent(cell) || !['empty', 'decided'].includes(stageOf(step, view, cell.position)));
  return { length: (before < 0 ? output.cells.length : before) + kept, struck, waiting };
};

const ghostNodes = (trace, output, { length, struck, waiting }) => {
  const tail = output.cells.slice(Math.max(0, length - LOOK_BACK), length).map((cell) => textOf(trace, cell));
  const ghosts = [...struck, ...waiting];
  const texts = readable([...tail, ...ghosts.map((cell) => textOf(trace, cell))]).slice(tail.length);
  return ghosts.map((cell, i) => ribbonToken(cell, texts[i], nameOf(trace.tokens, cell.id), struck.includes(cell) ? 'struck' : 'ghost'));
};

/** @type {() => HTMLElement} */
export const caret = () => {
  const node = make('span', 'sv-caret');
  node.setAttribute('aria-hidden', 'true');
  return node;
};

const ribbonNodes = new Map(); // index in the output to its node: made once a run

/** @type {(place: HTMLElement, trace: Trace, output: Output, at: {length: number, struck: Cell[], waiting: Cell[]}) => void} */
export const drawRibbon = (place, trace, output, at) => {
  if (place.dataset.run !== trace.run_id) {
    ribbonNodes.clear();
    place.dataset.run = trace.run_id;
    const prompt = make('span', 'sv-prompt', trace.prompt.text);
    prompt.title = 'the prompt';
    place.replaceChildren(prompt, ' ', make('span', 'sv-written'), make('span', 'sv-waiting'));
  }
  const [, written, waiting] = place.children;
  const first = Math.max(0, at.length - RIBBON_TOKENS);
  place.toggleAttribute('data-cut', first > 0);
  const wanted = output.cells.slice(first, at.length).map((cell, i) => {
    if (!ribbonNodes.has(first + i))
      ribbonNodes.set(first + i, ribbonToken(cell, output.texts[first + i], nameOf(trace.tokens, cell.id), cell.state));
    return ribbonNodes.get(first + i);
  });
  putInOrder(written, wanted);
  waiting.replaceChildren(...ghostNodes(trace, output, at), caret());
};

// A trace's output is worked out once.
const outputs = new WeakMap();

/** @type {(trace: Trace) => Output} */
export const cachedOutput = (trace) => {
  if (!outputs.has(trace)) outputs.set(trace, outputOf(trace));
  return outputs.get(trace);
};
