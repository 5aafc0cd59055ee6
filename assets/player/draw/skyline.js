// The whole run as a skyline: a column a step, as high as the tokens it gave.

import { cellsOf, inOutput } from '../run/cells.js';
import { count } from '../run/numbers.js';
import { make } from './dom.js';

/** @import { Beat, Trace } from '../run/types.js' */

const MARKS = { residual: '↻', bonus: '+' };

// While predicting a column says where a step is, and not what it gave.
const column = (step, tallest, flat) => {
  const gained = cellsOf(step).filter(inOutput).length;
  const node = make('div', 'sv-column', make('b', '', step.k && !flat ? MARKS[step.final?.kind] ?? '' : ''), make('i'));
  node.dataset.column = step.step;
  node.title = flat ? `step ${step.step}` : `step ${step.step}: ${count(gained, 'token', 'tokens')}`;
  node.lastElementChild.style.height = flat ? '40%' : `${(100 * gained) / tallest}%`;
  return node;
};

// `last` is the last step that may be known; null is all of them.
/** @type {(place: HTMLElement, trace: Trace, last: ?number) => void} */
export const drawSkyline = (place, trace, last) => {
  const tallest = Math.max(1, trace.settings.k + 1);
  if (place.dataset.run !== trace.run_id) place.replaceChildren();
  place.dataset.run = trace.run_id;
  const steps = last === null ? trace.steps : trace.steps.filter((step) => step.step <= last);
  place.append(...steps.slice(place.children.length).map((step) => column(step, tallest, last !== null)));
  place.toggleAttribute('data-flat', last !== null);
  place.toggleAttribute('data-narrow', steps.length > 40);
  place.setAttribute('aria-valuemin', steps[0]?.step ?? 0);
  place.setAttribute('aria-valuemax', steps.at(-1)?.step ?? 0);
};

/** @type {(place: HTMLElement, beat: Beat, words: string) => void} */
export const markSkyline = (place, beat, words) => {
  [...place.children].forEach((node) => {
    const number = Number(node.dataset.column);
    const when = number < beat.step ? 'past' : number === beat.step ? 'now' : '';
    if (node.dataset.when !== when) node.dataset.when = when;
  });
  place.setAttribute('aria-valuenow', beat.step);
  place.setAttribute('aria-valuetext', words);
};
