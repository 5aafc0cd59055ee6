// Original and branch under each other: the shared beginning once, then both ends, the first difference boxed.

import { firstDifference } from '../run/cells.js';
import { nameOf } from '../run/tokens.js';
import { comparison } from '../state/branches.js';
import { isPredicting } from '../state/reveal.js';
import { atEnd, currentBeat, state } from '../state/state.js';
import { make } from './dom.js';
import { cachedOutput, caret, ribbonToken } from './ribbon.js';

// As much of a run's output as may be seen: of the one on screen what its beat has revealed, of the other its earlier steps.
const revealedOf = (trace, length) => {
  const { cells } = cachedOutput(trace);
  if (trace.run_id === state.trace.run_id) return length;
  if (atEnd() && !state.live && !isPredicting()) return cells.length;
  const later = cells.findIndex((cell) => cell.step >= currentBeat().step);
  return later < 0 ? cells.length : later;
};

const SHARED_TOKENS = 120; // one line holds no more

const tokenRun = (trace, from, to) => {
  const { cells, texts } = cachedOutput(trace);
  return cells.slice(from, to).map((cell, i) => ribbonToken(cell, texts[from + i], nameOf(trace.tokens, cell.id), cell.state));
};

const forkLine = (name, trace, from, to) => {
  const isHere = trace.run_id === state.trace.run_id;
  const label = make('button', '', name);
  label.type = 'button';
  label.setAttribute('aria-pressed', String(isHere));
  const tokens = tokenRun(trace, from, to);
  tokens[0]?.classList.add('sv-differs');
  const line = make('div', 'sv-fork', label, make('div', 'sv-forked', ...tokens, isHere ? caret() : null));
  (isHere ? label : line).dataset.do = name === 'branch' ? 'fork' : name;
  line.toggleAttribute('data-here', isHere);
  return line;
};

const sharedLine = (trace, to, note) => {
  const from = Math.max(0, to - SHARED_TOKENS);
  return make('div', 'sv-shared',
    make('span', 'sv-fork-name', 'both'),
    make('div', 'sv-forked',
      make('span', 'sv-prompt', `${trace.prompt.text} `),
      from > 0 ? '… ' : null,
      ...tokenRun(trace, from, to),
      note,
    ),
  );
};

// Takes the ribbon's place while a branch is compared: the shared beginning once, then both ends, the first difference boxed.
/** @type {(place: HTMLElement, ribbon: HTMLElement, length: number) => void} */
export const drawComparison = (place, ribbon, length) => {
  const pair = comparison();
  place.hidden = pair === null;
  ribbon.hidden = pair !== null;
  if (!pair) return;
  const original = pair.original.trace;
  const branch = state.live ? state.trace : pair.branch.trace;
  const [ours, theirs] = [cachedOutput(original).cells, cachedOutput(branch).cells];
  const fork = firstDifference(ours, theirs);
  const from = fork ?? Math.min(ours.length, theirs.length);
  const [ourEnd, theirEnd] = [revealedOf(original, length), revealedOf(branch, length)];
  const same = fork === null && !state.live && atEnd() ? make('b', '', ' both write the same') : null;
  place.replaceChildren(
    sharedLine(state.trace, Math.min(from, length), same),
    forkLine('original', original, from, ourEnd),
    forkLine('branch', branch, from, theirEnd),
  );
  // In view is what came last; once all is there, the difference.
  place.querySelectorAll('.sv-forked').forEach((node, i) => {
    const whole = i > 0 && atEnd() && !state.live;
    Object.assign(node, { scrollLeft: whole ? 0 : node.scrollWidth, scrollTop: whole ? 0 : node.scrollHeight });
  });
};
