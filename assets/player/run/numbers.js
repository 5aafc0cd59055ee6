// Numbers as people read them. Two digits where that is honest, more where two would hide a decision.

const number = (x) => {
  if (x === null || x === undefined) return '';
  if (x === 0 || x === 1) return String(x);
  if (x < 0.0001) return x.toExponential(0);
  if (x < 0.01) return String(Number(x.toPrecision(1)));
  return x.toFixed(2);
};

// The same number of digits for both, enough of them that a < b can be seen.
const apart = (a, b) => {
  for (let digits = 2; digits < 16; digits += 1) {
    if (a === b || a.toFixed(digits) !== b.toFixed(digits)) return [a, b].map((x) => (digits === 2 ? number(x) : x.toFixed(digits)));
  }
  return [String(a), String(b)];
};

const milliseconds = (ms) => (ms >= 100 ? `${Math.round(ms)} ms` : `${Number(ms.toPrecision(2))} ms`);

const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;
