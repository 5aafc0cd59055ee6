// What another number in place of a coin or a draw would have decided, from the record alone.

/** @import { Draft, Outcome, Piece, Row } from './types.js' */

export const BELOW_ONE = 1 - 2 ** -53; // the largest coin there is

/** @type {(u: number) => number} */
export const heldIn = (u) => Math.min(BELOW_ONE, Math.max(0, u));

// --- what a number would decide

const keptAt = (cell, u) => u * cell.q < cell.p;

export const AFTERWARDS = '; everything after this changes';

/** @type {(cell: Draft, u: number) => Outcome} */
export const coinOutcome = (cell, u) => {
  const kept = keptAt(cell, u);
  if (kept === (cell.state === 'accepted')) return { same: true, verdict: 'same verdict', rest: ': nothing changes' };
  return { same: false, verdict: kept ? 'would be kept' : 'would be rejected', rest: AFTERWARDS };
};

// The pieces of [0, 1) that a draft's tokens hold. A draft that was never examined names no token but its own.
/** @type {(row: ?Row, draft: Draft) => Piece[]} */
export const piecesOfDraft = (row, draft) => {
  const others = row?.q_low ? row.ids.map((id, i) => ({ id, low: row.q_low[i], high: Math.min(1, row.q_low[i] + row.q[i]) })) : [];
  return [
    ...others.filter((piece) => piece.id !== draft.id && piece.high > piece.low),
    { id: draft.id, low: draft.low, high: draft.high },
  ].sort((a, b) => a.low - b.low);
};

// The token drawn now is exact to the last digit, its neighbours to five: it is asked first.
/** @type {(pieces: Piece[], own: number, u: number) => ?number} */
export const drawnAt = (pieces, own, u) => {
  const holds = (piece) => piece.low <= u && u < piece.high;
  const holding = pieces.filter(holds);
  const drawn = holding.find((piece) => piece.id === own) ?? holding[0];
  return drawn?.id ?? null;
};
