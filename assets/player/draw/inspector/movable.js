// Change this coin: a marker that can be dragged, and what the new number would decide. Nothing here asks the server.

import { acceptedIn, chanceOf, coinName } from '../../run/cells.js';
import { apart, number } from '../../run/numbers.js';
import { AFTERWARDS, BELOW_ONE, coinOutcome, drawnAt, heldIn, piecesOfDraft } from '../../run/whatif.js';
import { isComputing, isMoved, moved, whyNoBranch } from '../../state/branches.js';
import { stopPlaying } from '../../state/moves.js';
import { state } from '../../state/state.js';
import { make, tokenNode } from '../dom.js';
import { drawBar } from './lanes.js';
import { placedAt } from './ruler.js';

/** @import { Handle, Piece, Scene } from '../../run/types.js' */

const drawOutcome = (trace, pieces, own, u) => {
  const id = drawnAt(pieces, own, u);
  if (id === own) return { same: true, verdict: ['still ', tokenNode(trace.tokens, own)], rest: ': nothing changes' };
  if (id === null)
    return { same: false, verdict: 'another token, one of the rest', rest: `: which one, this run does not say${AFTERWARDS}` };
  return { same: false, verdict: [tokenNode(trace.tokens, id), ' instead'], rest: AFTERWARDS };
};

const positionOf = (step, draft) => step.drafts.findIndex((each) => each === draft) + 1;

// What can be moved in a scene: an address, the number there, and what another one would decide.
const coinHandle = (scene) => ({
  address: { step: scene.step.step, position: positionOf(scene.step, scene.cell), purpose: 'accept' },
  was: scene.cell.coin, name: 'the coin', outcome: (u) => coinOutcome(scene.cell, u),
  text: (u) => { const [coin, bound] = apart(u, chanceOf(scene.cell)); return `coin ${coin}, chance ${bound}`; },
  flag: (u) => `${coinName(scene.cell)} ${apart(u, chanceOf(scene.cell))[0]}`,
});

const draftHandle = (scene) => ({
  address: { step: scene.step.step, position: positionOf(scene.step, scene.cell), purpose: 'draft' },
  was: scene.cell.u_draft,
  name: "the draft's draw",
  outcome: (u) => drawOutcome(scene.trace, piecesOfDraft(scene.row, scene.cell), scene.cell.id, u),
  text: (u) => `drawn at ${number(u)}`,
  flag: number,
});

/** @type {(scene: Scene, pieces: Piece[]) => Handle} */
export const finalHandle = (scene, pieces) => ({
  address: { step: scene.step.step, position: acceptedIn(scene.step) + 1, purpose: 'final' },
  was: scene.final.u, name: 'the dart', outcome: (u) => drawOutcome(scene.trace, pieces, scene.final.id, u),
  text: (u) => `dart at ${number(u)}`, flag: number,
});

// A deliberate mistake decides by other rules, and a live run may still change under the hand.
const canMove = (scene) => !scene.trace.settings.fault && !state.live;

// --- the marker

const FINE = 0.001; // with Shift; what a pointer can aim at

const KEY_STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

const keyedTo = (event, u) => {
  if (event.key === 'Home') return 0;
  if (event.key === 'End') return BELOW_ONE;
  if (!(event.key in KEY_STEPS)) return null;
  return heldIn(Number((u + KEY_STEPS[event.key] * (event.shiftKey ? FINE : 0.01)).toFixed(6)));
};

const pointedTo = (event, place) => {
  const box = place.getBoundingClientRect();
  return heldIn(Number(((event.clientX - box.left) / box.width).toFixed(3)));
};

const FLAG_EDGE = 0.13; // of the width: a flag keeps that far from either end

// The marker at its number, and what that would decide, for those who hear the page.
const tellPlace = (place, marker, flag, handle, u) => {
  placedAt(marker, u);
  placedAt(flag, Math.min(1 - FLAG_EDGE, Math.max(FLAG_EDGE, u)));
  flag.replaceChildren(handle.flag(u), make('em', 'svi-grip', '↔'));
  const { same, verdict, rest } = handle.outcome(u);
  marker.setAttribute('aria-valuenow', u);
  marker.setAttribute(
    'aria-valuetext',
    u === handle.was ? handle.text(u) : `${handle.text(u)}: ${make('p', '', ...[verdict].flat(), rest).textContent}`,
  );
  place.toggleAttribute('data-changed', u !== handle.was);
  place.toggleAttribute('data-other', !same);
};

const changeButton = (text, name, off) => {
  const node = make('button', 'svi-button', text);
  node.type = 'button';
  node.dataset.do = name;
  node.disabled = off;
  return node;
};

const LOOK_AGAIN = 300; // milliseconds until a button that was off because something was computed looks whether that is over

// The new verdict, the branch's button, and in one sentence why it is off where it is.
const drawChange = (line, trace, handle, u) => {
  const { same, verdict, rest } = handle.outcome(u);
  const why = same ? null : whyNoBranch(trace);
  line.replaceChildren(
    make('p', 'svi-say', make('b', '', ...[verdict].flat()), rest, '.'),
    make('div', 'svi-tools',
      same ? null : changeButton('Run this branch', 'branch', why !== null),
      changeButton('Put it back', 'putBack', false),
      why && make('span', 'svi-soft svi-why', why),
    ),
  );
  line.hidden = false;
  clearTimeout(moved.timer);
  if (!same && isComputing())
    moved.timer = setTimeout(() => {
      if (line.isConnected && isMoved(trace.run_id, handle.address)) drawChange(line, trace, handle, moved.u);
    }, LOOK_AGAIN);
};

const describeMarker = (place, marker, handle) => {
  const says = { role: 'slider', tabindex: 0, 'aria-label': handle.name, 'aria-valuemin': 0, 'aria-valuemax': 1 };
  Object.entries(says).forEach(([name, value]) => marker.setAttribute(name, value));
  marker.title = 'drag it, or use the arrow keys: what would another number have decided?';
  marker.dataset.moves = handle.address.purpose;
  place.append(placedAt(make('s', 'svi-was'), handle.was));
  place.removeAttribute('aria-hidden');
  [...place.children].forEach((node) => { if (!node.contains(marker)) node.setAttribute('aria-hidden', 'true'); });
  place.classList.add('svi-movable');
};

const listenToMarker = (place, marker, now, moveIt) => {
  place.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    place.setPointerCapture(event.pointerId);
    marker.focus({ preventScroll: true });
    stopPlaying();
    if (!marker.contains(event.target)) moveIt(pointedTo(event, place));
  });
  place.addEventListener('pointermove', (event) => { if (place.hasPointerCapture(event.pointerId)) moveIt(pointedTo(event, place)); });
  marker.addEventListener('keydown', (event) => {
    const u = event.altKey || event.ctrlKey || event.metaKey ? null : keyedTo(event, now());
    if (u === null) return;
    event.preventDefault();
    moveIt(u);
  });
};

// Makes `marker` on `place` (as wide as [0, 1)) a slider; returns the line that tells what its new number would decide.
const makeMovable = (scene, place, marker, flag, handle) => {
  const { trace } = scene;
  const line = make('div', 'svi-change');
  line.hidden = true;
  describeMarker(place, marker, handle);
  const now = () => (isMoved(trace.run_id, handle.address) ? moved.u : handle.was);
  const show = () => {
    tellPlace(place, marker, flag, handle, now());
    line.hidden = !isMoved(trace.run_id, handle.address);
    if (!line.hidden) drawChange(line, trace, handle, moved.u);
  };
  const moveIt = (u) => {
    Object.assign(moved, handle.address, { run: trace.run_id, u: u === handle.was ? null : u });
    show();
  };
  listenToMarker(place, marker, now, moveIt);
  show();
  return line;
};

// The coin on its ruler.
/** @type {(scene: Scene, place: HTMLElement) => ?HTMLElement} */
export const movableCoin = (scene, place) => {
  if (scene.trace.settings.fault) return make('p', 'svi-soft svi-why', whyNoBranch(scene.trace));
  return canMove(scene) ? makeMovable(scene, place, place.querySelector('u'), place.querySelector('.svi-flag'), coinHandle(scene)) : null;
};

// A dart over a bar of pieces.
/** @type {(scene: Scene, place: HTMLElement, handle: Handle) => ?HTMLElement} */
export const movableDart = (scene, place, handle) => (canMove(scene) && place.querySelector('.svi-dart')
  ? makeMovable(scene, place, place.querySelector('.svi-dart i'), place.querySelector('.svi-dart b'), handle) : null);

// The draft's draw: where on the draft's law, laid out in the order of the draw, its number fell.
/** @type {(scene: Scene) => ?(HTMLElement[])} */
export const draftDraw = (scene) => {
  const { cell, row } = scene;
  if (!canMove(scene) || cell.low === null || cell.low === undefined || cell.q >= 1) return []; // one token alone leaves nothing to draw
  const place = drawBar({ ...scene, final: cell }, piecesOfDraft(row, cell), 'q', cell.u_draft);
  return [place, movableDart(scene, place, draftHandle(scene))];
};
