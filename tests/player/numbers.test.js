import assert from 'node:assert/strict';
import test from 'node:test';

import * as numbers from '../../assets/player/run/numbers.js';
import { nameOf, readable, visible } from '../../assets/player/run/tokens.js';

test('two digits where that is honest', () => {
  const said = [null, undefined, 0, 1, 0.5, 0.994, 0.0123, 0.0049, 0.0001, 0.00004].map(numbers.number);
  assert.deepEqual(said, ['', '', '0', '1', '0.50', '0.99', '0.01', '0.005', '0.0001', '4e-5']);
});

const BELOW_ONE = 1 - 2 ** -53;
const SHARES = [
  ...Array.from({ length: 2000 }, (_, i) => (i + 0.5) / 2000),
  ...Array.from({ length: 50 }, (_, i) => 2 ** -(i + 1)), ...Array.from({ length: 53 }, (_, i) => 1 - 2 ** -(i + 1)),
];
const valueOf = (text) => Number(text.replace('…', ''));

test('what is below 1 is never written as 1, and what is above 0 never as 0', () => {
  const said = [0.995, 0.997, 0.9996, 0.99994, 0.99996, BELOW_ONE].map(numbers.number);
  assert.deepEqual(said, ['0.99', '0.997', '0.9996', '0.9999', '0.9999…', '0.9999…']);
  for (const x of SHARES) {
    const value = valueOf(numbers.number(x));
    assert.ok(value > 0 && value < 1, `${x} is written ${numbers.number(x)}`);
  }
});

test('more digits where two would hide which is the smaller', () => {
  assert.deepEqual(numbers.apart(0.1, 0.2), ['0.10', '0.20']);
  assert.deepEqual(numbers.apart(0.5, 0.5), ['0.50', '0.50']);
  assert.deepEqual(numbers.apart(0.123, 0.1234), ['0.1230', '0.1234']);
  assert.deepEqual(numbers.apart(0.3, 0.30000000000000004), ['0.3', '0.30000000000000004']);
  assert.deepEqual(numbers.apart(0.9999, 0.99951), ['0.9999', '0.9995']);
  assert.deepEqual(numbers.apart(0.000096, 0.0001), ['0.000096', '0.000100']);
  assert.deepEqual(numbers.apart(BELOW_ONE, 1), ['0.9999…', '1']);
});

test('of two numbers the smaller is written as the smaller', () => {
  for (const a of SHARES) {
    for (const b of [0, a * 0.99999, a - 2 ** -40, a / 2, 1 - (1 - a) / 3, 1]) {
      const [first, second] = numbers.apart(a, Math.max(0, b)).map(valueOf);
      assert.equal(Math.sign(first - second), Math.sign(a - Math.max(0, b)), `${a} and ${b} are written ${first} and ${second}`);
    }
  }
});

test('an equation comes out as it is written', () => {
  const owed = ([p, q, mass]) => (p - q) / mass;
  assert.deepEqual(numbers.comingOut([0.43, 0.26, 0.23], (...of) => owed(of), '0.74'), ['0.43', '0.26', '0.23']);
  assert.deepEqual(numbers.comingOut([0.428, 0.262, 0.231], (...of) => owed(of), '0.72'), ['0.428', '0.262', '0.231']);
  const kept = (p, q) => Math.min(1, p / q);
  assert.deepEqual(numbers.comingOut([0.0043, 0.0094], kept, '0.46'), ['0.0043', '0.0094']);
  assert.deepEqual(numbers.comingOut([0.504, 0.501], kept, '1'), ['0.504', '0.501']);
  SHARES.forEach((q, i) => {
    const p = q * SHARES[(i * 379) % SHARES.length];
    const said = numbers.number(kept(p, q));
    const shown = kept(...numbers.comingOut([p, q], kept, said).map(valueOf));
    const half = 0.5 * 10 ** -(said.split('.')[1]?.length ?? 0); // a half is rounded either way
    assert.ok(numbers.number(shown) === said || Math.abs(shown - said) < half * 1.001, `${p} / ${q} is ${said} and comes out as ${shown}`);
  });
});

test('per cent, milliseconds, seconds, counts', () => {
  assert.deepEqual([0, 0.004, 0.014, 0.5, 0.994, 1].map(numbers.percentOf), ['0 %', 'under 1 %', '1 %', '50 %', 'over 99 %', '100 %']);
  assert.deepEqual([0.123, 12.34, 99.6, 123.4].map(numbers.milliseconds), ['0.12 ms', '12 ms', '100 ms', '123 ms']);
  const fine = [0.5, 0.994, 0.9951, 0.9996, 1 - 2 ** -53, 0.004, 0.0000003].map(numbers.finePercent);
  assert.deepEqual(fine, ['50 %', '99 %', '99.5 %', '99.96 %', 'over 99.99 %', '0.4 %', '0.00003 %']);
  assert.deepEqual([12.3, 999, 1234, 12345].map(numbers.seconds), ['12 ms', '1000 ms', '1.23 s', '12.3 s']);
  assert.deepEqual([1, 0, 2].map((n) => numbers.count(n, 'token', 'tokens')), ['1 token', '0 tokens', '2 tokens']);
});

test('a speedup is compared with plain decoding', () => {
  assert.equal(numbers.times(1.3), '1.30×');
  assert.equal(numbers.comparedWithOne(0.8), 'slower than plain decoding: it takes 25 % longer');
  assert.deepEqual([0.997, 1, 1.003].map(numbers.comparedWithOne), Array(3).fill('as fast as plain decoding')); // each is 1.00×
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
