// The controls describe the next run, everything else the run on screen: what differs between the two.

import { controlsNow } from './bridge.js';
import { facts } from './facts.js';
import { state } from './state.js';

/** @import { Control } from './facts.js' */

/** @type {() => string[]} */
export const controlNames = () => facts.controls.map(({ name }) => name);

const controlValues = () => {
  const values = controlsNow();
  return values && Object.fromEntries(controlNames().map((name, i) => [name, values[i]]));
};

const differs = (name, now, was) => {
  if (was[name] === null || was[name] === undefined || now[name] === null) return false;
  if (name === 'chat' && now.chat === facts.chat.null) return false;
  if (name === 'agreement' && now.pair !== 'toy') return false;
  return typeof was[name] === 'number' ? Number(now[name]) !== was[name] : now[name] !== was[name];
};

/** @type {() => {control: Control, now: any, was: any}[]} */
export const changedControls = () => {
  const now = controlValues();
  if (!now || state.trace === null) return [];
  const was = state.asked;
  const changed = facts.controls.filter(({ name }) => differs(name, now, was));
  return changed.map((control) => ({ control, now: now[control.name], was: was[control.name] }));
};
