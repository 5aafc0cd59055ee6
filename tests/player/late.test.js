// What a late answer may put into controls (assets/page/late.js): the visitor's own values and later questions stand.

import assert from 'node:assert/strict';
import test from 'node:test';

import { ask, merge } from '../../assets/page/late.js';

let made = 0;

// Two controls of a page of their own, and what asks and answers about them; `answered` keeps what they hold then.
const pageOf = (...values) => {
  const ids = [made + 1, made + 2];
  made += 2;
  const held = [...values];
  const put = (change) => Object.entries(change).forEach(([i, value]) => { held[i] = value; });
  const asked = () => ask({ given: 0, watched: ids, instead: [null, 2] }, [...held, '']).at(-1);
  const answered = (question, brings, { tells = [], keep } = {}) => {
    const told = Object.entries(brings).map(([i, value]) => [ids[i], { value, keep }]);
    const carried = JSON.stringify({ question, values: Object.fromEntries(told) });
    const [a, b, old] = merge({ watched: ids, contested: ids, tells: tells.map((i) => ids[i]) }, [carried, ...held]);
    [a, b].forEach((value, i) => { if (value !== undefined) held[i] = value; });
    return old !== undefined;
  };
  return { held, put, asked, answered };
};

test('an answer is put where nothing was set since, and is about what there is then', () => {
  const { held, asked, answered } = pageOf(4, 'a');
  assert.equal(answered(asked(), { 0: 9, 1: null }), false);
  assert.deepEqual(held, [9, null]);
});

test('what was set since stands, and the answer is about something else', () => {
  const { held, put, asked, answered } = pageOf(4, 'a');
  const question = asked();
  put({ 0: 5 });
  assert.equal(answered(question, { 0: 9, 1: 'b' }), true);
  assert.deepEqual(held, [5, 'b']);
});

test('an answer without values is old as soon as something was set since', () => {
  const { put, asked, answered } = pageOf(4, 'a');
  const [first, second] = [asked(), asked()];
  assert.equal(answered(first, {}), false);
  put({ 1: 'c' });
  assert.equal(answered(second, {}), true);
});

test('of two answers that of the later question stands, whichever comes first', () => {
  [[0, 1], [1, 0]].forEach((order) => {
    const { held, asked, answered } = pageOf(4, 'a');
    const questions = [asked(), asked()];
    order.forEach((i) => answered(questions[i], { 0: [8, 9][i] }));
    assert.equal(held[0], 9);
  });
});

test('a menu that tells what is on screen follows every answer, but for a choice that is not answered yet', () => {
  const { held, put, asked, answered } = pageOf('opening', '');
  const run = asked();
  put({ 0: 'hot' });
  answered(asked(), { 0: 'hot' }, { tells: [0] });
  const late = asked();
  answered(run, { 0: null }, { tells: [0] });
  assert.equal(held[0], null);
  put({ 0: 'noise' });
  answered(late, { 0: 'hot' }, { tells: [0] });
  assert.equal(held[0], 'noise');
});

test('what can not be kept is not: none of the new choices, or locked', () => {
  const { held, put, asked, answered } = pageOf('a', 'b');
  const questions = [asked(), asked()];
  put({ 0: 'b', 1: 'c' });
  answered(questions[0], { 0: 'x', 1: 'x' }, { keep: ['b', 'x'] });
  assert.deepEqual(held, ['b', 'x']);
  answered(questions[1], { 0: 'y' }, { keep: [] });
  assert.equal(held[0], 'y');
});

test('an answer is merged once, and a question that is not known is left alone', () => {
  const { held, put, asked, answered } = pageOf(4, 'a');
  const question = asked();
  answered(question, { 0: 9 });
  put({ 0: 4 });
  answered(question, { 0: 9 });
  answered('nonsense', { 0: 9 });
  assert.equal(held[0], 4);
  assert.deepEqual(merge({ watched: [], contested: [], tells: [] }, ['']), []);
});

test('what is sent are the inputs, what Gradio takes for the rest, and the number', () => {
  const plan = { given: 2, watched: [null, 90, 91], instead: [7] };
  assert.deepEqual(ask(plan, ['a', 'b', 'c', '']).slice(0, 3), ['a', 'b', 7]);
});

test('who types an old answer again has set it, and it stands', () => {
  const { held, put, asked, answered } = pageOf(4, 'a');
  answered(asked(), { 0: 9 });
  put({ 0: 5 });
  const question = asked();
  put({ 0: 9 });
  answered(question, { 0: 7 });
  assert.equal(held[0], 9);
});

test('whoever waits for a tab to be asked for hears of it once its values are noted', () => {
  const heard = [];
  globalThis.window = { dispatchEvent: ({ type, detail }) => { heard.push([type, detail]); } };
  ask({ given: 0, watched: [], instead: [], opening: '' }, ['']);
  ask({ given: 0, watched: [], instead: [], opening: 'speed' }, ['']);
  assert.deepEqual(heard, [['specviz:opening', 'speed']]);
});
