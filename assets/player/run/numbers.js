// Numbers as people read them. Two digits where that is honest, more where two would hide a decision.

/** @type {(x: ?number | undefined) => string} */
export const number = (x) => {
  if (x === null || x === undefined) return '';
  if (x === 0 || x === 1) return String(x);
  if (x < 0.0001) return x.toExponential(0);
  if (x < 0.01) return String(Number(x.toPrecision(1)));
  return x.toFixed(2);
};

// The same number of digits for both, enough of them that a < b can be seen.
/** @type {(a: number, b: number) => string[]} */
export const apart = (a, b) => {
  for (let digits = 2; digits < 16; digits += 1) {
    if (a === b || a.toFixed(digits) !== b.toFixed(digits)) return [a, b].map((x) => (digits === 2 ? number(x) : x.toFixed(digits)));
  }
  return [String(a), String(b)];
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

/** @type {(numbers: number[]) => number} */
export const sumOf = (numbers) => numbers.reduce((total, x) => total + x, 0);

/** @type {(x: number) => string} */
export const times = (x) => `${x.toFixed(2)}×`;

/** @type {(x: number) => string} */
export const comparedWithOne = (x) => {
  if (x < 1) return `slower than plain decoding: it takes ${((1 / x - 1) * 100).toFixed(0)} % longer`;
  return x === 1 ? 'as fast as plain decoding' : `faster than plain decoding: it takes ${((1 - 1 / x) * 100).toFixed(0)} % less time`;
};

/** @type {(text: string) => string} */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** @type {(ms: number) => string} */
export const seconds = (ms) => (ms < 1000 ? `${Number(ms.toPrecision(2))} ms` : `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`);
