// The inspector: what happened to one cell, as far as the beat has got. `drawInspector` is the way in; it draws and tells nobody.

import { ALONE, isGreedy, STATES } from '../../run/cells.js';
import { axisOf, countByLane, lanesOf, offBy, piecesOf, piecesOfP, throwDice, THROWS } from '../../run/mass.js';
import { count, number, sumOf } from '../../run/numbers.js';
import { isPresenting } from '../../state/modes.js';
import { rowShown } from '../../state/reveal.js';
import { make } from '../dom.js';
import { letFall } from './dots.js';
import { drawBar, drawLanes, slideIn } from './lanes.js';
import { draftDraw, finalHandle, movableCoin, movableDart } from './movable.js';
import { bigRuler, termOf } from './ruler.js';
import { coinFormula, drawFormula, pWord, qWord, say, SAYINGS, strong, thresholdFormula } from './words.js';

/** @import { Kind, Spot, Trace } from '../../run/types.js' */

const BEATS = ['start', 'draft', 'verify', 'threshold', 'coin', 'owed', 'draw'];

const inspecting = {
  policy: 'owed',
  raw: false,
  digits: false,
  throws: null,
  presses: 0,
  about: '',
  last: null,
  slid: '',
  listening: new WeakSet(),
};

// --- what there is to see: the scene ----------------------------------------------------------------------------------

const rejectedOf = (step) => step.drafts.find((draft) => draft.state === 'rejected') ?? null;

const has = (beat, atLeast) => BEATS.indexOf(beat) >= BEATS.indexOf(atLeast);

// A beat of the step is not always one of the cell: a kept draft has nothing to replace, a discarded one meets no coin.
const actOf = (step, cell, beat) => {
  if (beat === 'start') return 'start';
  if (!('coin' in cell)) {
    const replaces = cell.kind === 'residual' && rejectedOf(step) !== null; // a deliberate mistake may replace nothing
    if (replaces && has(beat, 'owed')) return beat;
    return beat === 'draw' ? 'bonus' : 'waiting';
  }
  if (cell.state === 'discarded') return has(beat, 'coin') ? 'discarded' : has(beat, 'verify') ? 'verify' : 'draft';
  if (cell.state === 'accepted' && has(beat, 'coin')) return 'coin';
  return has(beat, 'owed') && !step.final ? 'coin' : beat;
};

const cellOf = (step, key) => {
  if (key.state === 'residual' || key.state === 'bonus') return step.final;
  return step.drafts[key.position - 1];
};

const sceneOf = (trace, key, beat) => {
  const step = key && trace.steps.find((each) => each.step === Number(key.step));
  const picked = step && cellOf(step, key);
  if (!picked) return { trace, step: step ?? null, cell: null, final: null, act: 'start', row: null };
  const act = actOf(step, picked, beat);
  const replaced = picked.kind === 'residual' && (act === 'draw' || act === 'owed');
  const cell = replaced ? rejectedOf(step) : picked;
  const row =
    act === 'waiting' || act === 'discarded' ? null : rowShown(cell.row, { ...cell, step: step.step, position: key.position }, act);
  return { trace, step, key, cell, final: step.final, act, row, greedy: isGreedy(trace) };
};

const canReplace = (scene) =>
  ['coin', 'owed', 'draw'].includes(scene.act) && scene.row && scene.cell.mass > 0 && !scene.greedy && !scene.trace.settings.fault;

// Whether a replacement from p itself is shown, instead of the one that the run made.
const isFromP = (scene) => canReplace(scene) && inspecting.policy === 'p';

const hasRaw = (scene) => Boolean(scene.row?.p_raw);

// --- its parts --------------------------------------------------------------------------------------------------------

const button = (text, name, pressed, title) => {
  const node = make('button', 'svi-button', text);
  node.type = 'button';
  node.dataset.inspect = name;
  if (title) node.title = title;
  if (pressed !== undefined) node.setAttribute('aria-pressed', String(pressed));
  return node;
};

const whereLine = (scene) => {
  const { step, cell, act, key } = scene;
  const known = {
    coin: STATES[cell.state],
    owed: STATES.rejected,
    draw: STATES[key.state],
    bonus: step.k === 0 ? ALONE : STATES.bonus,
    discarded: STATES.discarded,
  }[act];
  return make('div', 'svi-where',
    make('span', '', `step ${step.step} · position ${key.position}`),
    known ? make('b', '', known.glyph, make('span', 'svi-word', ` ${known.word}`)) : null,
    make('span', 'svi-gap'),
    hasRaw(scene) && !scene.greedy
      ? button('before temperature', 'raw', inspecting.raw, 'the laws before temperature, top-k and top-p, dashed')
      : null,
    act === 'waiting' ? null : button('digits', 'digits', inspecting.digits, 'every digit there is'),
  );
};

const OUTCOMES = {
  accepted: 'kept: the coin fell below p/q',
  rejected: 'rejected: it did not',
  discarded: 'not used: drafted after a rejected one, no coin is tossed',
  residual: 'replacement: drawn from what the target is still owed',
  bonus: 'bonus: one more from the target, if all were kept',
};

const startParts = (scene) => {
  const drafted = scene.step ? scene.step.k : scene.trace.settings.k;
  const first =
    drafted === 0
      ? say('Nothing is drafted now: the target draws its own token.')
      : say(
          'The draft will propose ',
          strong(count(drafted, 'token', 'tokens')),
          ', then one target pass reads them all. What can happen to each:',
        );
  const list = make('ul', 'svi-outcomes',
    ...Object.entries(OUTCOMES).map(([state, text]) => make('li', `sv-${state}`, make('span', 'sv-glyph', STATES[state].glyph), text)),
  );
  return drafted === 0 ? [first] : [first, list];
};

const laneViewOf = (scene, lanes) => {
  const { act, cell, final } = scene;
  const isBonus = act === 'bonus';
  const drafting = act === 'draft';
  const raw = (inspecting.raw || scene.greedy) && hasRaw(scene);
  return {
    axis: axisOf(lanes, raw, drafting), raw, mass: cell.mass,
    hasDraft: !isBonus, hasTarget: !drafting, split: has(act, 'threshold') && !isBonus,
    policy: isFromP(scene) ? 'p' : 'owed', thrown: canReplace(scene) && inspecting.throws !== null,
    asked: cell.id, drawn: act === 'draw' ? final.id : isBonus ? cell.id : null,
  };
};

const balanceLine = (scene, view) => {
  const { mass, overlap } = scene.cell;
  if (view.policy === 'p') {
    const [least, most] = offBy(scene.row, mass).map(number);
    return make('p', 'svi-balance',
      'A common mistake. The output is ',
      make('b', 'svi-wrong', least === most ? `off by ${least} in total` : `off by ${least} to ${most} in total`), '.',
    );
  }
  return make('p', 'svi-balance svi-sums',
    'Drafted too often ',
    qWord(number(mass)),
    ' = still owed ',
    termOf(pWord(number(mass)), 'owed'),
    make('span', 'svi-soft', ` · overlap ${number(overlap)}`),
  );
};

const barParts = (scene, lanes, view) => {
  const { act, final, row } = scene;
  if (act === 'draft') return draftDraw(scene);
  if (act !== 'owed' && act !== 'draw' && act !== 'bonus') return [];
  if (view.policy === 'p') return [drawBar(scene, piecesOfP(lanes), 'p', null)];
  const pieces = piecesOf(row, final).filter((piece) => !scene.trace.settings.fault || piece.id === final.id);
  const kind = act === 'bonus' || final.fallback ? 'p' : 'owed';
  const place = drawBar(scene, pieces, kind, act === 'owed' ? null : final.u);
  return [place, act === 'owed' ? null : movableDart(scene, place, finalHandle(scene, pieces))];
};

const toolsOf = (scene) => {
  if (!canReplace(scene)) return null;
  const policy = make('span', 'svi-policy',
    button('what is owed', 'owed', inspecting.policy === 'owed'),
    button('p itself', 'p', inspecting.policy === 'p'),
  );
  policy.setAttribute('role', 'group');
  policy.setAttribute('aria-label', 'replace from');
  return make('div', 'svi-tools',
    make('span', 'svi-soft svi-from', 'replace from'),
    policy,
    make('span', 'svi-gap'),
    button('throw 1,000 ×', 'throw'),
  );
};

const fullDigits = (x) => (x === null || x === undefined ? null : String(x));

const factPair = (name, value) => (value === null ? [] : [make('dt', '', name), make('dd', '', value)]);

const interval = (low, high) => (low === null || low === undefined ? null : `[${low}, ${high})`);

// Every digit there is, of what the beat has shown.
const digitsOf = (scene) => {
  const { act, cell, final, key } = scene;
  const target = act !== 'draft';
  const tossed = act === 'coin' || act === 'owed' || act === 'draw';
  const last = act === 'bonus' || (act === 'draw' && key.state === 'residual') ? final : null;
  const rows = last
    ? [
        ...factPair('token id', String(last.id)),
        ...factPair('p', fullDigits(last.p)),
        ...factPair('q', fullDigits(last.q)),
        ...factPair('owed in all', fullDigits(last.mass)),
        ...factPair('dart', fullDigits(last.u)),
        ...factPair('its piece', interval(last.low, last.high)),
      ]
    : [
        ...factPair('token id', String(cell.id)),
        ...factPair('q', fullDigits(cell.q)),
        ...factPair('p', target ? fullDigits(cell.p) : null),
        ...factPair('coin', tossed ? fullDigits(cell.coin) : null),
        ...factPair('overlap Σ min(p, q)', tossed ? fullDigits(cell.overlap) : null),
        ...factPair('drafted at', fullDigits(cell.u_draft)),
        ...factPair('in', interval(cell.low, cell.high)),
      ];
  return make('dl', 'svi-digits', ...rows);
};

// A CSV keeps no rows, and a live run sends them when it is over.
const noDistributions = (trace) => make('p', 'svi-soft', trace.settings.top_m === 0
  ? 'The distributions behind these numbers are not in the file: a CSV holds the grid alone. The run’s JSON has them.'
  : 'The distributions behind these numbers come when the run is over.');

const seenIn = (scene) => (scene.act === 'draw' ? [scene.cell.id, scene.final.id] : [scene.cell.id]);

// A low window has room for fewer.
const mostLanes = () => (matchMedia(isPresenting() ? '(max-height: 1000px)' : '(max-height: 780px)').matches ? 4 : 6);

const lanesIn = (scene) => lanesOf(scene.row, seenIn(scene), scene.row.short ? 4 : mostLanes(), scene.act === 'draft');

const chartParts = (scene) => {
  if (scene.act === 'waiting' || scene.act === 'discarded') return [];
  if (!scene.row) return scene.trace.settings.fault ? [] : [noDistributions(scene.trace)];
  const lanes = lanesIn(scene);
  const view = laneViewOf(scene, lanes);
  const chart = drawLanes(scene, lanes, view);
  if (view.thrown) showThrows(chart, scene, lanes, view);
  const balance = view.split && scene.cell.mass !== null ? balanceLine(scene, view) : null;
  return [chart, view.thrown ? thrownLine(lanes, view) : balance, ...barParts(scene, lanes, view), ...finalParts(scene), toolsOf(scene)];
};

// --- a thousand throws ------------------------------------------------------------------------------------------------

const thrownNow = (lanes, view) => throwDice(lanes, view.policy === 'owed', inspecting.presses);

const showThrows = (chart, scene, lanes, view) => {
  const counts = countByLane(thrownNow(lanes, view), lanes);
  chart.querySelectorAll('.svi-came').forEach((node, at) => { node.textContent = String(counts[at]); });
  chart.append(make('canvas', 'svi-dots'));
};

const thrownLine = (lanes, view) => {
  const throws = thrownNow(lanes, view);
  const kept = throws.filter((each) => each.kept).length;
  const away = sumOf(countByLane(throws, lanes).map((n, at) => Math.abs(n / THROWS - lanes[at].p))) / 2;
  return make('p', 'svi-balance', '1,000 throws: ', qWord(String(kept)), ' kept, ', pWord(String(THROWS - kept)), ' replaced. Off p by ',
    make('b', view.policy === 'p' ? 'svi-wrong' : '', away.toFixed(2)), view.policy === 'p' ? '.' : ', by chance alone.');
};

const dropDots = (place, scene) => {
  const canvas = place.querySelector('.svi-dots');
  if (!canvas || !canvas.clientWidth) return;
  const lanes = lanesIn(scene);
  const view = laneViewOf(scene, lanes);
  const falling = inspecting.throws === 'fresh';
  inspecting.throws = 'done';
  letFall(canvas, [...place.querySelectorAll('.svi-output')], thrownNow(lanes, view), view.axis, falling);
};

// --- the whole --------------------------------------------------------------------------------------------------------

const finalParts = (scene) =>
  scene.act === 'bonus' || (scene.act === 'draw' && inspecting.policy === 'owed' && inspecting.throws === null)
    ? [drawFormula(scene)]
    : [];

const rulerParts = (scene) => {
  const tossed = scene.act === 'coin' || scene.act === 'owed' || scene.act === 'draw';
  if ((!tossed && scene.act !== 'threshold') || scene.cell.coin === null || scene.cell.coin === undefined) return [];
  const rule = scene.act === 'coin' ? [coinFormula(scene)] : scene.act === 'threshold' ? [thresholdFormula(scene)] : [];
  const place = bigRuler(scene.cell, tossed);
  const change = tossed ? movableCoin(scene, place) : null;
  return [make('div', 'svi-coin', place, ...rule, change)];
};

// Where the inspector is a sheet over the page; elsewhere it is not shown.
const closeButton = () => {
  const node = make('button', 'sv-close', '✕');
  node.type = 'button';
  node.dataset.close = '';
  node.setAttribute('aria-label', 'close');
  return node;
};

// What is said, and the picture of it: one under the other, or side by side where there is room.
const inTwo = (said, shown = []) => {
  const nodes = shown.filter(Boolean);
  const words = isPresenting() ? nodes.filter((node) => node.matches('.svi-formula, .svi-tools')) : [];
  return [make('div', 'svi-said', ...said, ...words), make('div', 'svi-shown', ...nodes.filter((node) => !words.includes(node)))];
};

const partsOf = (scene) => {
  if (scene.act === 'start') return inTwo(...startParts(scene).map((each) => [each]));
  const below = inspecting.digits && scene.act !== 'waiting' ? [digitsOf(scene)] : chartParts(scene);
  const said = isFromP(scene) && scene.act !== 'coin' ? 'fromP' : scene.act;
  return inTwo([whereLine(scene), SAYINGS[said](scene), ...rulerParts(scene)], below);
};

const lightUp = (place, term) =>
  place.querySelectorAll('[data-term]').forEach((node) => node.classList.toggle('svi-lit', term !== null && node.dataset.term === term));

const ACTIONS = {
  owed: () => { inspecting.policy = 'owed'; },
  p: () => { inspecting.policy = 'p'; },
  raw: () => { inspecting.raw = !inspecting.raw; },
  digits: () => { inspecting.digits = !inspecting.digits; },
  throw: () => { inspecting.presses += 1; inspecting.throws = 'fresh'; },
};

const press = (place, name) => {
  ACTIONS[name]();
  drawInspector(...inspecting.last);
  place.querySelector(`[data-inspect="${name}"]`)?.focus({ preventScroll: true });
};

const listenIn = (place) => {
  if (inspecting.listening.has(place)) return;
  inspecting.listening.add(place);
  const termUnder = (event) => event.target.closest?.('[data-term]')?.dataset.term ?? null;
  ['pointerover', 'focusin'].forEach((name) => place.addEventListener(name, (event) => lightUp(place, termUnder(event))));
  ['pointerleave', 'focusout'].forEach((name) => place.addEventListener(name, () => lightUp(place, null)));
  place.addEventListener('click', (event) => {
    const pressed = event.target.closest?.('[data-inspect]');
    if (pressed) press(place, pressed.dataset.inspect);
  });
};

// Draws into `place` what `cellKey` {step, position, state} of `trace` shows at `beatKind`, one of BEATS; no key is no cell.
/** @type {(place: HTMLElement, trace: Trace, cellKey: ?Spot, beatKind: Kind) => void} */
export const drawInspector = (place, trace, cellKey, beatKind) => {
  const scene = sceneOf(trace, cellKey, beatKind);
  const about = `${trace.run_id} ${scene.step?.step} ${scene.key?.position}`;
  if (about !== inspecting.about) Object.assign(inspecting, { about, throws: null, policy: 'owed' });
  inspecting.last = [place, trace, cellKey, beatKind];
  listenIn(place);
  const root = make('div', 'svi', ...partsOf(scene), closeButton());
  root.dataset.act = scene.act;
  place.replaceChildren(root);
  if (scene.row) dropDots(place, scene);
  const moment = `${about} ${scene.act}`;
  if (scene.act === 'owed' && inspecting.slid !== moment) slideIn(place);
  inspecting.slid = moment;
};
