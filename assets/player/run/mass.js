// Where a position's mass goes: what the draft delivers, what it drafts too often, what the target is still owed. Numbers only.

import { sumOf } from './numbers.js';

/** @import { Final, Lane, Piece, Row, Throw } from './types.js' */

const AXIS_ENDS = [0.05, 0.1, 0.25, 0.5, 1];

const laneFrom = (id, p, q, both, raw) => ({ id, p, q, both, owed: Math.max(0, p - both), over: Math.max(0, q - both), raw });

// Every token of a row; a law that is not there (a bonus has no draft) counts as nothing.
const tokensOf = (row) => row.ids.map((id, i) => {
  const [p, q] = [row.p?.[i] ?? 0, row.q?.[i] ?? 0];
  const raw = row.p_raw ? { p: row.p_raw[i], q: row.q_raw?.[i] ?? 0 } : null;
  return laneFrom(id, p, q, Math.min(p, q), raw);
});

// What is known before the target's pass is the draft's law alone.
const weightOf = (token, drafting) => (drafting ? token.q : Math.max(token.p, token.q));

const rawWeightOf = (token, drafting) => (token.raw ? weightOf(token.raw, drafting) : 0);

const byWeight = (drafting) => (a, b) => weightOf(b, drafting) - weightOf(a, drafting)
  || rawWeightOf(b, drafting) - rawWeightOf(a, drafting) || a.id - b.id;

const restLane = (row, unshown) => {
  const total = (name) => sumOf(unshown.map((token) => token[name]));
  const [p, q, both] = [row.p_rest + total('p'), (row.q_rest ?? 0) + total('q'), (row.overlap_rest ?? 0) + total('both')];
  return laneFrom(null, p, q, Math.min(p, q, both), null);
};

// The lanes of a chart: the tokens that must be seen, then the likeliest, `most` in all, and the rest as one lane.
/** @type {(row: Row, seen: number[], most: number, drafting?: boolean) => Lane[]} */
export const lanesOf = (row, seen, most, drafting = false) => {
  const tokens = tokensOf(row).sort(byWeight(drafting));
  const first = seen.map((id) => tokens.find((token) => token.id === id)).filter(Boolean);
  const chosen = [
    ...first.slice(0, 1),
    ...tokens.filter((token) => !first.includes(token)).slice(0, most - first.length),
    ...first.slice(1),
  ];
  const shown = [...chosen.slice(0, 1), ...chosen.slice(1).sort(byWeight(drafting))];
  const unshown = tokens.filter((token) => !chosen.includes(token));
  return [...shown, restLane(row, unshown)];
};

// The axis fits the tokens; the rest may be cut where it would dwarf them.
/** @type {(lanes: Lane[], withRaw: boolean, drafting?: boolean) => number} */
export const axisOf = (lanes, withRaw, drafting = false) => {
  const longest = Math.max(0, ...lanes.filter((each) => each.id !== null)
    .flatMap((each) => [weightOf(each, drafting), withRaw ? rawWeightOf(each, drafting) : 0]));
  return AXIS_ENDS.find((end) => longest <= end) ?? 1;
};

// What a lane gets where replacements are drawn from p itself instead of from what is owed.
/** @type {(each: Lane, mass: number) => number} */
export const fromP = (each, mass) => each.both + mass * each.p;

// How far the output is then from p in all. What is not in the row is known as a lump only, so these are two bounds.
/** @type {(row: Row, mass: number) => number[]} */
export const offBy = (row, mass) => {
  const rest = restLane(row, []);
  const shown = sumOf(tokensOf(row).map((token) => Math.max(0, fromP(token, mass) - token.p)));
  return [shown + Math.max(0, fromP(rest, mass) - rest.p), shown + rest.both * mass];
};

// The law that a final token was drawn from, as the pieces of [0, 1) that its tokens hold, in the order of the draw.
/** @type {(row: Row, final: ?Final) => Piece[]} */
export const piecesOf = (row, final) => row.ids.map((id, i) => {
  if (id === final?.id) return { id, low: final.low, high: final.high };
  const chance = final?.kind === 'bonus' || final?.fallback ? row.p[i] : Math.max(0, row.p[i] - row.q[i]) / final.mass;
  return { id, low: row.low[i], high: Math.min(1, row.low[i] + chance) };
}).filter((piece) => piece.high - piece.low > 0).sort((a, b) => a.low - b.low);

// The same for p itself, whose intervals the row of a rejected draft does not hold: largest first, the rest last.
/** @type {(lanes: Lane[]) => Piece[]} */
export const piecesOfP = (lanes) => {
  let low = 0;
  return lanes.filter((each) => each.id !== null && each.p > 0).map((each) => {
    const piece = { id: each.id, low, high: Math.min(1, low + each.p) };
    low = piece.high;
    return piece;
  });
};

// --- a thousand throws of the dice at one position: draft from q, keep with p/q, else replace

export const THROWS = 1000;

// A small seeded generator (mulberry32): the same press gives the same dots.
const diceOf = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
};

const pickFrom = (weights, u) => {
  let left = u * sumOf(weights);
  const at = weights.findIndex((weight) => { left -= weight; return left < 0; });
  return at < 0 ? weights.findLastIndex((weight) => weight > 0) : at;
};

// Returns each throw as {lane, kept}, lane an index into `lanes`.
/** @type {(lanes: Lane[], fromOwed: boolean, seed: number) => Throw[]} */
export const throwDice = (lanes, fromOwed, seed) => {
  const dice = diceOf(seed);
  const [drafted, replacing] = [lanes.map((each) => each.q), lanes.map((each) => (fromOwed ? each.owed : each.p))];
  return Array.from({ length: THROWS }, () => {
    const at = pickFrom(drafted, dice());
    const kept = dice() * lanes[at].q < lanes[at].both;
    return { lane: kept ? at : pickFrom(replacing, dice()), kept };
  });
};

/** @type {(throws: Throw[], lanes: Lane[]) => number[]} */
export const countByLane = (throws, lanes) => lanes.map((_, at) => throws.filter((each) => each.lane === at).length);
