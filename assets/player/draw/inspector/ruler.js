// The coin on its ruler: filled as far as the chance of being kept, a marker where the coin fell.

import { chanceOf, coinName, coinTexts } from '../../run/cells.js';
import { number } from '../../run/numbers.js';
import { make } from '../dom.js';

/** @import { Draft } from '../../run/types.js' */

/** @type {(node: HTMLElement, share: number) => HTMLElement} */
export const placedAt = (node, share) => {
  node.style.left = `${100 * share}%`;
  return node;
};

/** @type {(node: HTMLElement, term: string) => HTMLElement} */
export const termOf = (node, term) => {
  node.dataset.term = term;
  return node;
};

// The chance's own tick stands a little inside, and takes the place of an end that it would cover.
const ticksOf = (chance, text) => [
  ...[0, 1].filter((end) => Math.abs(end - chance) > 0.09).map((end) => placedAt(make('small', '', String(end)), end)),
  placedAt(make('small', '', text), chance === 0 || chance === 1 ? chance : Math.min(0.98, Math.max(0.03, chance))),
];

const coinMark = (cell) => {
  const matters = chanceOf(cell) > 0 && chanceOf(cell) < 1;
  return [
    placedAt(make('span', 'svi-flag', `${coinName(cell)} ${coinTexts(cell)[0]}`), Math.min(0.87, Math.max(0.13, cell.coin))),
    termOf(placedAt(make('u', matters ? '' : 'svi-hollow'), cell.coin), 'coin'),
  ];
};

// Before its coin falls a cell shows only how far the ruler is filled.
/** @type {(cell: Draft, thrown: boolean) => HTMLElement} */
export const bigRuler = (cell, thrown) => {
  const chance = chanceOf(cell);
  const fill = termOf(make('i'), 'bound');
  fill.style.width = `${100 * chance}%`;
  const said = thrown ? coinTexts(cell)[1] : number(chance);
  const node = make('div', 'svi-ruler', make('div', 'svi-track', fill), ...ticksOf(chance, said), ...(thrown ? coinMark(cell) : []));
  node.setAttribute('aria-hidden', 'true'); // the sentence above and the formula below say the same
  return node;
};
