// The exactness lab: what one step puts out, exactly and thrown, beside what it should. Asks the server, draws its answer.

import { number } from '../../player/run/numbers.js';
import { visible } from '../../player/run/tokens.js';
import { heard, sharedSpot, takeAsk } from '../../player/state/bridge.js';
import { make } from '../../player/draw/dom.js';

const part = (name) => element.querySelector(`[data-part="${name}"]`);
const root = element.querySelector('.svx');

// What is asked for. The server checks all of it.
const asking = {
  source: 'screen',
  fault: null,
  trials: null,
  seed: 0,
  toy: { prompt: '1 15 42', agreement: 0.9, temperature: 1, top_k: 0, top_p: 1 },
};

let asked = 0; // questions are numbered, because answers may overtake each other

const askNow = () => {
  root.setAttribute('aria-busy', 'true');
  asked += 1;
  trigger('ask', { ...asking, number: asked, spot: sharedSpot() });
};

// A lesson may have asked for something before this tab was first opened.
const takeLesson = () => {
  const wanted = takeAsk() ?? {};
  Object.assign(asking, wanted, { toy: { ...asking.toy, ...wanted.toy } });
  askNow();
};

// --- switches ---------------------------------------------------------------------------------------------------------

const switchNode = (name, title, row, chosen) => {
  const node = make('button', 'svx-switch', make('span', '', title), row ? make('small', '', row) : null);
  node.type = 'button';
  node.dataset.fault = name ?? '';
  node.setAttribute('aria-pressed', String(chosen));
  return node;
};

const drawSwitches = ({ faults }) => {
  const nodeOf = (fault) => switchNode(fault.name, fault.title, fault.row, asking.fault === fault.name);
  const group = (title, list) => [make('h3', '', title), ...list.map(nodeOf)];
  const focused = document.activeElement?.closest?.('.svx-switch')?.dataset.fault;
  const scrolled = part('switches').scrollTop;
  part('switches').replaceChildren(
    make('h3', '', 'The algorithm'), switchNode(null, 'the right rule', null, asking.fault === null),
    ...group('Classic mistakes', faults.filter((fault) => !fault.exact)),
    ...group('Look like mistakes, are exact', faults.filter((fault) => fault.exact)),
  );
  part('switches').scrollTop = scrolled;
  if (focused !== undefined) part('switches').querySelector(`[data-fault="${focused}"]`)?.focus({ preventScroll: true });
};

const chooseFault = (name, faults) => {
  const own = faults.find((fault) => fault.name === name)?.toy;
  asking.fault = name || null;
  Object.assign(asking.toy, own ?? { temperature: 1, top_k: 0 }); // where the mistake shows
  askNow();
};

const drawSources = ({ faults }) => {
  element
    .querySelectorAll('[data-source]')
    .forEach((node) => node.setAttribute('aria-pressed', String(node.dataset.source === asking.source)));
  part('toy').hidden = asking.source !== 'toy';
  const elsewhere = faults.filter((fault) => !fault.here).length;
  part('here').hidden = asking.source !== 'screen' || elsewhere === 0;
  part('here').textContent =
    `${faults.length - elsewhere} of the ${faults.length} rules can be shown at a selected position. The other ${elsewhere} need later `
    + 'tokens or the whole vocabulary: “three tokens” shows them.';
  element.querySelectorAll('[data-toy]').forEach((node) => {
    if (node !== document.activeElement) node.value = asking.toy[node.dataset.toy];
  });
};

const textButton = (text, does) => {
  const node = make('button', 'svx-button', text);
  node.type = 'button';
  node.dataset.does = does;
  return node;
};

const bannerParts = ({ fault }) => {
  if (!fault) return [];
  const head = fault.exact ? 'Looks like a mistake, and is exact: ' : 'A deliberate mistake is on: ';
  const node = make('div', fault.exact ? 'svx-banner svx-harmless' : 'svx-banner',
    make('b', '', head, fault.title, '. '),
    fault.does,
    make('span', 'svx-why', ` ${fault.why}`),
    make('span', 'svx-does',
      textButton(fault.exact ? 'Run the toy with it' : 'Run the toy with this mistake', 'run'),
      textButton('Switch it off', 'off'),
    ),
  );
  node.setAttribute('role', 'alert');
  return [node];
};

// --- the chart --------------------------------------------------------------------------------------------------------

const AXES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1];

const axisOfLanes = (lanes) => {
  const most = Math.max(...lanes.flatMap(({ p, q, law, share }) => [p, q ?? 0, law, share ?? 0]));
  return AXES.find((axis) => most <= axis) ?? 1;
};

const piece = (kind, from, to, axis) => {
  if (to - from <= 1e-9) return null;
  const node = make('i', `svx-${kind}`);
  node.style.left = `${(100 * from) / axis}%`;
  node.style.width = `${(100 * (to - from)) / axis}%`;
  return node;
};

const goalAt = (p, axis) => {
  const node = make('u', 'svx-goal');
  node.style.left = `${(100 * p) / axis}%`;
  return node;
};

const DIFFERS = 5e-4;

// Kept drafts first, then what is drawn in place of the others; what goes beyond p, or falls short of it, is the mistake.
const outputBar = ({ p, law, kept }, axis) => {
  const first = kept ?? 0;
  return make('div', 'svx-bar svx-output',
    piece('kept', 0, Math.min(first, p), axis),
    piece(kept === null ? 'plain' : 'drawn', Math.min(first, p), Math.min(law, p), axis),
    piece('excess', p, law, axis),
    piece('missing', law, p, axis),
    goalAt(p, axis),
  );
};

const draftBar = ({ q, kept }, axis) =>
  make('div', 'svx-bar svx-draft', piece('kept', 0, Math.min(kept, q), axis), piece('over', Math.min(kept, q), q, axis));

const shareBar = ({ p, share }, axis) => make('div', 'svx-bar svx-thrown', piece('share', 0, share, axis), goalAt(p, axis));

const short = (x) => (x > 0 && x < 5e-5 ? '≈ 0' : number(x));

const laneTitle = (lane, rest) => {
  if (lane.name !== null) return make('bdi', 'sv-token', visible(lane.name));
  return make('span', 'svx-rest', rest ?? `${lane.count} others`);
};

const laneNode = (lane, view) => {
  const off = lane.law - lane.p;
  const figures = make('span', 'svx-numbers',
    lane.q === null ? null : make('b', 'sv-q', short(lane.q)),
    make('b', 'sv-p', short(lane.p)),
    make('b', Math.abs(off) > DIFFERS ? 'svx-off' : '', short(lane.law)),
    lane.share === null ? null : make('b', 'svx-soft', short(lane.share)),
  );
  const node = make('div', 'svx-lane',
    laneTitle(lane, view.rest),
    make('div', 'svx-bars',
      lane.q === null ? null : draftBar(lane, view.axis),
      outputBar(lane, view.axis),
      lane.share === null ? null : shareBar(lane, view.axis),
    ),
    figures,
  );
  node.setAttribute('role', 'listitem');
  const spoken = [
    lane.name === null ? (view.rest ?? `${lane.count} others`) : visible(lane.name),
    lane.q === null ? null : `draft ${number(lane.q)}`,
    `should be ${number(lane.p)}`,
    `comes out ${number(lane.law)}`,
    lane.share === null ? null : `thrown ${number(lane.share)}`,
  ];
  node.setAttribute('aria-label', spoken.filter(Boolean).join(', '));
  return node;
};

const chartHead = (view) =>
  make('div', 'svx-lane svx-head',
    make('span', ''),
    make('span', 'svx-legend',
      ...(view.draft
        ? [
            make('span', '', make('i', 'svx-chip svx-kept'), 'kept drafts'),
            make('span', '', make('i', 'svx-chip svx-drawn'), 'drawn by the target'),
          ]
        : [make('span', '', make('i', 'svx-chip svx-plain'), 'comes out')]),
      make('span', '', make('i', 'svx-chip svx-goal'), 'what p asks for'),
      ...(view.wrong
        ? [
            make('span', '', make('i', 'svx-chip svx-excess'), 'too much'),
            make('span', '', make('i', 'svx-chip svx-missing'), 'too little'),
          ]
        : []),
      make('span', 'svx-soft', `axis 0 … ${view.axis}`),
    ),
    make('span', 'svx-numbers',
      view.draft ? make('b', 'sv-q', 'q') : null,
      make('b', 'sv-p', 'p'),
      make('b', '', 'out'),
      view.thrown ? make('b', 'svx-soft', 'thrown') : null,
    ),
  );

const REST =
  'The record keeps the tokens that are likeliest here. “Everything else” is all others counted as one, '
  + 'with the p, the q and the overlap that the record has for them.';
const REST_WRONG = ' With a mistake its bar is a close figure, and the distance at least about as large as it says.';

const drawChart = ({ lanes, rest, fault }) => {
  const view = {
    axis: axisOfLanes(lanes),
    rest,
    draft: lanes[0].q !== null,
    thrown: lanes[0].share !== null,
    wrong: lanes.some(({ p, law }) => Math.abs(law - p) > DIFFERS),
  };
  const list = make('div', 'svx-lanes', ...lanes.map((lane) => laneNode(lane, view)));
  list.setAttribute('role', 'list');
  return [chartHead(view), list, rest ? make('p', 'svx-note', REST, fault && !fault.exact ? REST_WRONG : '') : null].filter(Boolean);
};

// --- the figures ------------------------------------------------------------------------------------------------------

const raised = (digits) => Array.from(digits, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]).join('');

// 2 · 10⁻⁵, or two digits.
const small = (x) => {
  if (x >= 1e-4) return String(Number(x.toPrecision(2)));
  const [leading, exponent] = x.toExponential(0).split('e-');
  return exponent === undefined ? x.toExponential(0) : `${leading} · 10⁻${raised(exponent)}`;
};

const EXACT_BELOW = 1e-9;

const lawParts = ({ bias, fault }) => {
  const right = bias < EXACT_BELOW;
  const nothing =
    fault && !fault.exact && right
      ? make('p', '', 'With these settings this mistake changes nothing. It shows in the three-token example.')
      : null;
  return [
    make('h3', '', 'Exactly'),
    make('p', right ? 'svx-big' : 'svx-big svx-off', right ? '= p' : `off by ${small(bias)}`),
    make('p', '',
      right
        ? 'The law that comes out is the target’s own: total variation 0, up to rounding.'
        : `The total variation from p, computed and not sampled: ${small(bias)} of all probability lies on wrong tokens.`,
    ),
    nothing,
  ].filter(Boolean);
};

const spotOn = (node, value, axis) => {
  node.style.left = `${Math.min(100, (100 * value) / axis)}%`;
  return node;
};

const bandNode = ({ bias, throws }) => {
  const axis = 1.12 * Math.max(throws.high, throws.distance, bias);
  const band = make('i', 'svx-band');
  band.style.left = `${(100 * throws.low) / axis}%`;
  band.style.width = `${(100 * (throws.high - throws.low)) / axis}%`;
  const node = make('div', 'svx-ruler',
    band,
    spotOn(make('s', ''), bias, axis),
    spotOn(make('u', throws.inside ? '' : 'svx-out'), throws.distance, axis),
  );
  node.setAttribute('aria-hidden', 'true');
  return node;
};

const throwParts = (answer) => {
  const { throws, bias } = answer;
  if (!throws) return [make('p', 'svx-soft', 'Not thrown yet.')];
  const { inside, distance, low, high, trials, samplers } = throws;
  const right = bias < EXACT_BELOW;
  const within = right ? 'chance alone explains it.' : 'too few throws to see this mistake.';
  const without = right ? 'a right sampler does this once in a thousand times; throw again.' : 'chance does not explain it.';
  const verdict = inside ? within : without;
  return [
    make('p', inside ? 'svx-big' : 'svx-big svx-off', `${small(distance)} away`),
    bandNode(answer),
    make('p', 'svx-keys',
      make('i', 'svx-chip svx-band'),
      `chance alone: ${low > 0 ? small(low) : 0} to ${small(high)}`,
      make('i', 'svx-chip svx-mark'),
      'thrown',
      make('i', 'svx-chip svx-exact'),
      'exact',
    ),
    make('p', '',
      `The share of each token in ${trials.toLocaleString('en')} throws is ${small(distance)} from p: `,
      make('b', '', verdict),
      ` Of a thousand right samplers 999 stay in the band: ${samplers.toLocaleString('en')} were thrown to find it.`,
    ),
  ];
};

const problemNode = ({ problem, fault, ask }) =>
  make('div', 'svx-problem',
    make('p', '', problem),
    fault && ask?.source !== 'table' ? textButton('Show it with three tokens', 'table') : null,
  );

let answer = { faults: [] };

const draw = () => {
  if (!props.value) return;
  const newest = JSON.parse(props.value);
  if (newest.number < (answer.number ?? 0)) return;
  answer = newest;
  root.setAttribute('aria-busy', String(answer.number < asked));
  drawSwitches(answer);
  drawSources(answer);
  part('banner').replaceChildren(...bannerParts(answer));
  part('title').textContent = answer.title ?? '';
  const failed = answer.problem !== null;
  part('chart').replaceChildren(...(failed ? [problemNode(answer)] : drawChart(answer)));
  part('law').replaceChildren(...(failed ? [] : lawParts(answer)));
  part('throws').replaceChildren(...(failed ? [] : throwParts(answer)));
  element.querySelectorAll('[data-throw]').forEach((node) => { node.disabled = failed; }); // there is nothing to throw
};

const DOES = {
  run: () => trigger('run_toy', asking),
  off: () => chooseFault(null, answer.faults),
  table: () => { asking.source = 'table'; askNow(); },
};

element.addEventListener('click', (event) => {
  const on = (name) => event.target.closest(`[data-${name}]`)?.dataset[name];
  if (on('fault') !== undefined) chooseFault(on('fault'), answer.faults);
  else if (on('source')) { asking.source = on('source'); askNow(); }
  else if (on('throw')) { asking.trials = Number(on('throw')); asking.seed += 1; askNow(); }
  else if (on('does')) DOES[on('does')]();
});

element.addEventListener('change', (event) => {
  const name = event.target.dataset?.toy;
  if (!name) return;
  asking.toy[name] = name === 'prompt' ? event.target.value : Number(event.target.value);
  askNow();
});

watch('shown', takeLesson);
heard('run', () => { if (root.offsetParent !== null && asking.source === 'screen') askNow(); });
watch('value', draw);
draw();
takeLesson();
