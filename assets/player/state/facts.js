// What the page knows once and for all and tells the player when it starts: Python makes it, so that nothing of it stands here too.

import { factsNow } from './bridge.js';

/** @typedef {{name: string, words: string, title: string, is_number: boolean, more: boolean}} Control */

/** @type {{controls: Control[], chat: Object<string, string>, checkpoints: number[]}} */
export const facts = {
  controls: [], // in their order: see specviz/page/controls.py
  chat: {}, // how a prompt is read, in words, by true, false and null
  checkpoints: [], // the steps after which a character of a fingerprint stands for the whole run up to there
};

/** @type {() => void} */
export const readFacts = () => { Object.assign(facts, factsNow()); };
