// The only way this page makes elements: text stays text.

import { nameOf } from '../run/tokens.js';

/** @type {(tag: string, className?: string, ...children: (Node | string | null | undefined)[]) => any} */
export const make = (tag, className, ...children) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

/** @type {(tokens: Object<string, string>, id: number, className?: string) => HTMLElement} */
export const tokenNode = (tokens, id, className = 'sv-token') => {
  const node = make('bdi', className, nameOf(tokens, id));
  node.dir = 'ltr';
  return node;
};

// Filled to the chance, a marker at the coin once it has been tossed.
/** @type {(chance: number, coin: ?number, matters: boolean) => HTMLElement} */
export const ruler = (chance, coin, matters) => {
  const fill = make('i');
  fill.style.width = `${100 * Math.min(1, chance)}%`;
  const marker = coin === null ? null : make('u');
  if (marker) marker.style.left = `${100 * coin}%`;
  const node = make('div', matters ? 'sv-ruler' : 'sv-ruler sv-hollow', fill, marker);
  node.setAttribute('aria-hidden', 'true');
  return node;
};

// Children exactly these, in this order; those that are there already stay.
/** @type {(place: Element, nodes: Node[]) => void} */
export const putInOrder = (place, nodes) => {
  const kept = new Set(nodes);
  [...place.children].forEach((node) => { if (!kept.has(node)) node.remove(); });
  nodes.forEach((node, i) => { if (place.children[i] !== node) place.insertBefore(node, place.children[i] ?? null); });
};

/** @type {(className: string, name: string, value: string, ...children: (Node | string)[]) => HTMLButtonElement} */
export const pressable = (className, name, value, ...children) => {
  const node = make('button', className, ...children);
  node.type = 'button';
  node.dataset[name] = value;
  return node;
};
