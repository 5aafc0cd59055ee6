import assert from 'node:assert/strict';
import test from 'node:test';

import * as numbers from '../../assets/player/run/numbers.js';
import { nameOf, readable, visible } from '../../assets/player/run/tokens.js';

test('two digits where that is honest', () => {
  const said = [null, undefined, 0, 1, 0.5, 0.999, 0.0123, 0.0049, 0.00004].map(numbers.number);
  assert.deepEqual(said, ['', '', '0', '1', '0.50', '1.00', '0.01', '0.005', '4e-5']);
});

test('more digits where two would hide which is the smaller', () => {
  assert.deepEqual(numbers.apart(0.1, 0.2), ['0.10', '0.20']);
  assert.deepEqual(numbers.apart(0.5, 0.5), ['0.50', '0.50']);
  assert.deepEqual(numbers.apart(0.123, 0.1234), ['0.1230', '0.1234']);
  assert.deepEqual(numbers.apart(0.3, 0.30000000000000004), ['0.3', '0.30000000000000004']);
});

test('per cent, milliseconds, seconds, counts', () => {
  assert.deepEqual([0, 0.004, 0.014, 0.5, 0.994, 1].map(numbers.percentOf), ['0 %', 'under 1 %', '1 %', '50 %', 'over 99 %', '100 %']);
  assert.deepEqual([0.123, 12.34, 99.6, 123.4].map(numbers.milliseconds), ['0.12 ms', '12 ms', '100 ms', '123 ms']);
  assert.deepEqual([12.3, 999, 1234, 12345].map(numbers.seconds), ['12 ms', '1000 ms', '1.23 s', '12.3 s']);
  assert.deepEqual([1, 0, 2].map((n) => numbers.count(n, 'token', 'tokens')), ['1 token', '0 tokens', '2 tokens']);
});

test('a speedup is compared with plain decoding', () => {
  assert.equal(numbers.times(1.3), '1.30×');
  assert.equal(numbers.comparedWithOne(0.8), 'slower than plain decoding: it takes 25 % longer');
  assert.equal(numbers.comparedWithOne(1), 'as fast as plain decoding');
  assert.equal(numbers.comparedWithOne(2), 'faster than plain decoding: it takes 50 % less time');
});

test('sums and capitals', () => {
  assert.equal(numbers.sumOf([1, 2.5, 3]), 6.5);
  assert.equal(numbers.sumOf([]), 0);
  assert.equal(numbers.capital('a branch'), 'A branch');
});

test('nothing in a token is invisible, and nothing can act', () => {
  assert.equal(visible(' a\n\t\r'), '␣a↵⇥␍');
  assert.equal(visible(''), '⟨empty⟩');
  assert.equal(visible('\u202e\u200b\u0000\u007f'), '⟨U+202E⟩⟨U+200B⟩␀␡');
  assert.equal(visible('\udce9'), '⟨E9⟩');
  assert.equal(visible('<b>é猫'), '<b>é猫');
  assert.equal(nameOf({ 3: ' x' }, 3), '␣x');
  assert.equal(nameOf({}, 4), '⟨id 4⟩');
});

test('bytes that only together are a character are read together, and each token keeps a place', () => {
  const texts = readable(['caf', '\udcc3', '\udca9', '!']);
  assert.equal(texts.length, 4);
  assert.equal(texts.join(''), 'café!');
});
