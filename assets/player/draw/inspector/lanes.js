// The mass chart: for each token a lane for the draft and one for the output. Solid is delivered, hollow too often, hatched owed.

import { fromP } from '../../run/mass.js';
import { number } from '../../run/numbers.js';
import { nameOf } from '../../run/tokens.js';
import { wantsStillness } from '../../state/modes.js';
import { make, tokenNode } from '../dom.js';
import { placedAt, termOf } from './ruler.js';
import { pWord, qWord } from './words.js';

/** @import { Lane, Piece, Scene } from '../../run/types.js' */

const widthOn = (node, value, axis) => {
  node.style.width = `${Math.min(100, (100 * value) / axis)}%`;
  return node;
};

const bit = (kind, value, axis) => (value > 0 ? widthOn(make('i', `svi-${kind}`), value, axis) : null);

const outline = (value, axis, whose) => (value > 0 ? widthOn(make('s', `svi-raw svi-raw-${whose}`), value, axis) : null);

// Before the threshold each law is a plain bar; from then on it is told what becomes of it.
const draftLane = (each, view) => {
  const parts = view.split ? [bit('kept', each.both, view.axis), bit('over', each.over, view.axis)] : [bit('plain-q', each.q, view.axis)];
  return make('div', 'svi-lane', ...parts, view.raw && each.raw ? outline(each.raw.q, view.axis, 'q') : null);
};

const fromPParts = (each, view) => {
  const whole = fromP(each, view.mass);
  const edge = make('u', 'svi-edge');
  edge.style.left = `${Math.min(100, (100 * each.p) / view.axis)}%`;
  return [
    bit('delivered', each.both, view.axis), bit('owed', Math.min(whole, each.p) - each.both, view.axis),
    bit('excess', whole - each.p, view.axis), edge,
  ];
};

const owedParts = (each, view) => [bit('delivered', each.both, view.axis), bit('owed', each.owed, view.axis)];

const outputLane = (each, view) => {
  const parts = view.split ? (view.policy === 'p' ? fromPParts(each, view) : owedParts(each, view)) : [bit('plain-p', each.p, view.axis)];
  const node = make('div', 'svi-lane svi-output', ...parts, view.raw && each.raw ? outline(each.raw.p, view.axis, 'p') : null);
  if (view.thrown) node.replaceChildren(outlineOfP(each, view));
  return node;
};

const outlineOfP = (each, view) => widthOn(make('s', 'svi-goal'), each.p, view.axis);

const laneName = (scene, each, view) => {
  if (each.id === null) return make('span', 'svi-rest', 'the rest');
  const node = tokenNode(scene.trace.tokens, each.id);
  node.title = nameOf(scene.trace.tokens, each.id);
  if (each.id === view.asked) node.classList.add('svi-asked');
  if (each.id === view.drawn) node.classList.add('svi-drawn');
  return node;
};

const laneNumbers = (each, view) => make('span', 'svi-numbers',
  view.hasDraft ? qWord(number(each.q)) : null,
  view.hasTarget ? pWord(number(each.p)) : null);

const cutMark = (each, view) => {
  const cut = Math.max(view.hasDraft ? each.q : 0, view.hasTarget ? each.p : 0) > view.axis;
  return cut ? make('em', 'svi-cut', '⟫') : null;
};

const spokenLane = (scene, each, view) => {
  const parts = [each.id === null ? 'the rest' : nameOf(scene.trace.tokens, each.id)];
  if (view.hasDraft) parts.push(`draft ${number(each.q)}`);
  if (view.hasTarget) parts.push(`target ${number(each.p)}`);
  if (view.split && each.over > 0) parts.push(`drafted too often ${number(each.over)}`);
  if (view.split && view.policy === 'p') parts.push(`comes out ${number(fromP(each, view.mass))}`);
  else if (view.split && each.owed > 0) parts.push(`still owed ${number(each.owed)}`);
  return parts.join(', ');
};

const markTerms = (row, each, view) => {
  const [draft, output] = [row.querySelector('.svi-lane:not(.svi-output)'), row.querySelector('.svi-output')];
  const names = each.id === view.asked ? ['q', 'p'] : each.id === view.drawn ? ['drawn-q', 'drawn-p'] : null;
  if (!names || each.id === null) return;
  if (draft) draft.dataset.term = names[0];
  if (output) output.dataset.term = names[1];
};

const laneRow = (scene, each, view) => {
  const lanes = make('div', 'svi-lanes',
    view.hasDraft ? draftLane(each, view) : null,
    view.hasTarget ? outputLane(each, view) : null,
    cutMark(each, view),
  );
  const row = make('div', 'svi-row',
    laneName(scene, each, view),
    lanes,
    laneNumbers(each, view),
    view.thrown ? make('span', 'svi-came', '') : null,
  );
  row.setAttribute('role', 'listitem');
  row.setAttribute('aria-label', spokenLane(scene, each, view));
  row.dataset.token = each.id === null ? 'rest' : each.id;
  markTerms(row, each, view);
  return row;
};

const lawP = () => make('span', 'sv-p', 'p');

// What the lower lane is, and where p is where that is another thing.
const outputName = (view) => {
  if (view.thrown) return [' above, throws below, outlined: ', lawP()];
  return view.policy === 'p' ? [' above, output below, line: ', lawP()] : [' above, ', make('span', 'sv-p', 'output = p'), ' below'];
};

const chartTitle = (view) => {
  const drafts = view.hasDraft ? [make('span', 'sv-q', 'draft q')] : [];
  const target = make('span', 'sv-p', 'target p');
  const between = !view.hasTarget ? [] : view.split ? outputName(view) : drafts.length ? [' above, ', target, ' below'] : [target];
  const dashed = view.raw ? ', dashed: before temperature' : '';
  return make('p', 'svi-axis', make('span', '', ...drafts, ...between, dashed), make('span', '', `axis 0 … ${view.axis}`));
};

/** @type {(scene: Scene, lanes: Lane[], view: object) => HTMLElement} */
export const drawLanes = (scene, lanes, view) => {
  const rows = make('div', 'svi-rows', ...lanes.map((each) => laneRow(scene, each, view)));
  rows.setAttribute('role', 'list');
  rows.setAttribute('aria-label', 'the likeliest tokens');
  return make('div', `svi-chart${view.thrown ? ' svi-thrown' : ''}${view.hasDraft && view.hasTarget ? '' : ' svi-single'}`,
    chartTitle(view),
    rows,
  );
};

// --- the bar that a dart falls on -------------------------------------------------------------------------------------

const LETTER = 0.026; // of the bar's width

const pieceName = (scene, piece) => (piece.id === null ? 'rest' : nameOf(scene.trace.tokens, piece.id));

// What no shown token holds, between the pieces.
const withGaps = (pieces) => {
  const ends = [0, ...pieces.map((piece) => piece.high)];
  const gaps = [...pieces.map((piece) => piece.low), 1].map((high, i) => ({ id: null, low: ends[i], high }));
  return [...pieces, ...gaps];
};

const labelsOf = (scene, pieces, drawn) => {
  const isDrawn = (label) => label.id !== null && label.id === drawn;
  const wide = withGaps(pieces).map((piece) => {
    const half = (Math.min(12, Array.from(pieceName(scene, piece)).length) * LETTER) / 2 + 0.01;
    return { ...piece, half, at: Math.min(1 - half, Math.max(half, (piece.low + piece.high) / 2)) };
  });
  const order = wide.sort((a, b) => isDrawn(b) - isDrawn(a) || (b.high - b.low) - (a.high - a.low));
  const placed = order.reduce((done, label) => {
    const fits =
      isDrawn(label) ||
      (label.high - label.low > (label.id === null ? 0.08 : 0.04) &&
        done.every((other) => Math.abs(other.at - label.at) > other.half + label.half));
    return fits ? [...done, label] : done;
  }, []);
  return placed.map((label) =>
    placedAt(
      label.id === null
        ? make('span', 'svi-rest', 'rest')
        : tokenNode(scene.trace.tokens, label.id, isDrawn(label) ? 'sv-token svi-drawn' : 'sv-token'),
      label.at,
    ),
  );
};

const pieceNode = (piece, drawn) => {
  const node = placedAt(make('i', piece.id === drawn ? 'svi-hit' : ''), piece.low);
  node.style.width = `${100 * (piece.high - piece.low)}%`;
  node.dataset.piece = piece.id;
  if (piece.id === drawn) node.dataset.term = 'piece';
  return node;
};

const dartAt = (u) =>
  make('span', 'svi-dart', placedAt(make('b', '', number(u)), Math.min(0.95, Math.max(0.05, u))), placedAt(make('i', '', '▼'), u));

// `dart` is null until it has fallen.
/** @type {(scene: Scene, pieces: Piece[], kind: string, dart: ?number) => HTMLElement} */
export const drawBar = (scene, pieces, kind, dart) => {
  const drawn = dart === null ? null : scene.final.id;
  const bar = termOf(make('div', `svi-bar svi-bar-${kind}`, ...pieces.map((piece) => pieceNode(piece, drawn))), 'owed');
  const node = make('div', 'svi-throw', dart === null ? null : dartAt(dart), bar, ...labelsOf(scene, pieces, drawn));
  node.setAttribute('aria-hidden', 'true');
  return node;
};

// Each piece slides out of its lane into the bar.
/** @type {(root: Element) => void} */
export const slideIn = (root) => {
  if (wantsStillness()) return;
  root.querySelectorAll('[data-piece]').forEach((piece) => {
    const from = root.querySelector(`[data-token="${piece.dataset.piece}"] .svi-owed`)?.getBoundingClientRect();
    const to = piece.getBoundingClientRect();
    if (!from || !to.width) return;
    const moved = `translate(${from.left - to.left}px, ${from.top - to.top}px)`;
    const scaled = `scale(${from.width / to.width}, ${from.height / to.height})`;
    const frames = [`${moved} ${scaled}`, 'none'].map((transform) => ({ transformOrigin: '0 0', transform }));
    piece.animate(frames, { duration: 550, easing: 'ease-in-out' });
  });
};
