// A phone: the inspector as a sheet, and what buttons unfold. Above all else: nothing is out of reach.

import { tell } from '../state/changes.js';
import { part, root } from '../state/host.js';
import { isPhone, phoneWidth } from '../state/modes.js';
import { setPresenting } from './present.js';

// --- the sheet

const sheet = { from: null, behind: [] };

// Everything on the page that lies beside the way from the body down to a node, but for what is spoken.
const besides = (node) =>
  node === document.body
    ? []
    : [
        ...[...node.parentElement.children].filter((each) => each !== node && each !== part('backdrop') && each !== part('aloud')),
        ...besides(node.parentElement),
      ];

const isSheetOpen = () => root().dataset.sheet === 'open';

/** @type {(from: HTMLElement) => void} */
export const openSheet = (from) => {
  if (!isPhone() || isSheetOpen()) return;
  const place = part('inspector');
  root().dataset.sheet = 'open';
  Object.assign(sheet, { from, behind: besides(place).filter((node) => !node.inert) });
  sheet.behind.forEach((node) => { node.inert = true; });
  place.setAttribute('role', 'dialog');
  place.setAttribute('aria-modal', 'true');
  document.body.classList.add('sv-sheet');
  place.focus({ preventScroll: true });
};

export const closeSheet = () => {
  if (!isSheetOpen()) return;
  const place = part('inspector');
  root().dataset.sheet = 'closed';
  sheet.behind.forEach((node) => { node.inert = false; });
  ['role', 'aria-modal'].forEach((name) => place.removeAttribute(name));
  document.body.classList.remove('sv-sheet');
  const from = sheet.from.isConnected ? sheet.from : part('open').querySelector('.sv-cell');
  from?.focus({ preventScroll: true });
};

// --- what a button unfolds: the controls of the next run, and the less needed half of the transport

const unfold = (name, open) => {
  document.body.classList.toggle(`sv-${name}`, open);
  document.querySelector(`[data-do="${name}"]`)?.setAttribute('aria-expanded', open);
};

/** @type {(name: 'menu' | 'change') => void} */
export const toggleFold = (name) => unfold(name, !document.body.classList.contains(`sv-${name}`));

const pressOutside = (event) => {
  const pressed = (selector) => event.target.closest?.(selector);
  if (pressed('[data-do="change"]')) toggleFold('change');
  else if (pressed('#run')) unfold('change', false); // what it runs is to be seen
  else if (!pressed('[data-do="menu"]') && !pressed('[data-speed]')) unfold('menu', false);
};

// Esc closes what lies on top; returns whether there was such a thing.
/** @type {() => boolean} */
export const closeTop = () => {
  if (isSheetOpen()) closeSheet();
  else if (document.body.matches('.sv-menu, .sv-change') && isPhone()) ['menu', 'change'].forEach((name) => unfold(name, false));
  else return false;
  return true;
};

const otherWidth = () => {
  closeSheet();
  if (isPhone()) setPresenting(false);
  tell('size');
};

export const listenToPhone = () => {
  phoneWidth().addEventListener('change', otherWidth);
  document.addEventListener('click', pressOutside);
};
