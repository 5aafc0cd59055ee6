// Numbers as people read them. Two digits where that is honest, more where two would hide a decision or not come out.

const MOST_DIGITS = 15;

// A number between 0 and 1 with some digits; of a small one only the first ones count. 0 and 1 alone are written so.
const withDigits = (x, digits) => {
  if (x === 0 || x === 1) return String(x);
  if (x >= 0.01) return x.toFixed(digits);
  const first = x.toPrecision(digits - 1);
  return Number(first) < 0.0001 ? x.toExponential(digits - 2) : first;
};

const NEARLY_ONE = '0.9999…';

// What is below 1 is never written as 1.
/** @type {(x: ?number | undefined) => string} */
export const number = (x) => {
  if (x === null || x === undefined) return '';
  const text = [2, 3, 4].map((digits) => withDigits(x, digits)).find((each) => Number(each) !== 1 || x === 1);
  return x > 1 ? x.toFixed(2) : text ?? NEARLY_ONE;
};

// The number that a text of `number` stands for.
const valueOf = (text) => Number(text.replace('…', ''));

// As many digits for both as it takes to see that a < b.
/** @type {(a: number, b: number) => string[]} */
export const apart = (a, b) => {
  const short = [number(a), number(b)];
  if (a === b || valueOf(short[0]) !== valueOf(short[1])) return short;
  for (let digits = 3; digits <= MOST_DIGITS; digits += 1) {
    const texts = [a, b].map((x) => x.toFixed(digits));
    const honest = texts.every((text, i) => [0, 1].every((end) => Number(text) !== end || [a, b][i] === end));
    if (honest && texts[0] !== texts[1]) return texts;
  }
  return [String(a), String(b)];
};

// Whether `x` rounds to what `text` says.
const roundsTo = (x, text) => {
  const [mantissa, exponent] = text.split('e');
  const places = (mantissa.split('.')[1]?.length ?? 0) - Number(exponent ?? 0);
  return Math.abs(x - Number(text)) <= 0.5000001 * 10 ** -places;
};

// The terms of an equation with as few digits as make it come out: what `rule` makes of them, as they are written, is `result`.
/** @type {(terms: number[], rule: (...terms: number[]) => number, result: string) => string[]} */
export const comingOut = (terms, rule, result) => {
  for (let digits = 2; digits <= MOST_DIGITS; digits += 1) {
    const texts = terms.map((x) => (digits === 2 ? number(x) : withDigits(x, digits)));
    const values = texts.map(valueOf);
    const apartAll = values.every((value, i) => terms.every((x, j) => x === terms[i] || values[j] !== value));
    if (apartAll && (roundsTo(rule(...values), result) || number(rule(...values)) === result)) return texts;
  }
  return terms.map(String);
};

/** @type {(ms: number) => string} */
export const milliseconds = (ms) => (ms >= 100 ? `${Math.round(ms)} ms` : `${Number(ms.toPrecision(2))} ms`);

/** @type {(n: number, one: string, many: string) => string} */
export const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;

/** @type {(x: number) => string} */
export const percentOf = (x) => {
  if (x <= 0 || x >= 1) return `${Math.round(100 * x)} %`;
  if (x < 0.01) return 'under 1 %';
  return x > 0.99 ? 'over 99 %' : `${Math.round(100 * x)} %`;
};

// A share that is neither nothing nor all, in per cent: never 0 % nor 100 %.
/** @type {(x: number) => string} */
export const finePercent = (x) => {
  const chance = 100 * x;
  if (chance >= 1 && chance <= 99) return `${Math.round(chance)} %`;
  const text = [2, 3, 4].map((digits) => String(Number(chance.toPrecision(digits)))).find((each) => each !== '100');
  return `${text ?? 'over 99.99'} %`;
};

/** @type {(numbers: number[]) => number} */
export const sumOf = (numbers) => numbers.reduce((total, x) => total + x, 0);

/** @type {(x: number) => string} */
export const times = (x) => `${x.toFixed(2)}×`;

/** @type {(x: number) => string} */
export const comparedWithOne = (x) => {
  if (x.toFixed(2) === '1.00') return 'as fast as plain decoding';
  if (x < 1) return `slower than plain decoding: it takes ${((1 / x - 1) * 100).toFixed(0)} % longer`;
  return `faster than plain decoding: it takes ${((1 - 1 / x) * 100).toFixed(0)} % less time`;
};

/** @type {(text: string) => string} */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** @type {(ms: number) => string} */
export const seconds = (ms) => (ms < 1000 ? `${Number(ms.toPrecision(2))} ms` : `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`);
