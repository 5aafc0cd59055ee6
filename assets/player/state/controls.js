// The controls describe the next run, everything else the run on screen: what differs between the two.

import { controlsNow } from './bridge.js';
import { facts } from './facts.js';
import { state } from './state.js';

/** @import { Trace } from '../run/types.js' */
/** @import { Control } from './facts.js' */

/** @type {() => string[]} */
export const controlNames = () => facts.controls.map(({ name }) => name);

// The share of the target's logits in the toy's own draft stands in that draft's name; other drafts have none.
const agreementOf = ({ pair, draft }) => {
  if (pair !== 'toy' || draft.kind !== 'model') return null;
  return draft.name === 'toy' ? 1 : Number(draft.name.slice('toy-'.length));
};

// What the controls would hold for the run on screen.
/** @type {(trace: Trace) => Object<string, any>} */
export const askedFor = ({ settings, prompt }) => ({
  prompt: prompt.text,
  pair: settings.pair,
  draft: settings.draft.kind,
  k: settings.k,
  temperature: settings.temperature,
  top_k: settings.top_k,
  top_p: settings.top_p,
  max_new_tokens: settings.max_new_tokens,
  seed: settings.seed,
  chat: facts.chat[settings.chat],
  agreement: agreementOf(settings),
});

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
  const was = askedFor(state.trace);
  const changed = facts.controls.filter(({ name }) => differs(name, now, was));
  return changed.map((control) => ({ control, now: now[control.name], was: was[control.name] }));
};
