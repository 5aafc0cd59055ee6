// The speed of the run: three kinds of figures, never mixed, each with what it means.

import { count, times } from '../run/numbers.js';
import { boundsWords, figureWords, roundsWords, speedupOf, gainWords } from '../run/speed.js';
import { hasRace, isStandalone } from '../state/modes.js';
import { make } from './dom.js';

/** @import { Counts, Figures, Totals, Trace } from '../run/types.js' */

const card = (title, value, ...lines) => {
  const shown = value === null ? make('div', 'sv-figure sv-missing', '–') : make('div', 'sv-figure', value);
  return make('section', 'sv-card', make('h3', '', title), shown, ...lines.filter(Boolean).map((line) => make('p', '', line)));
};

const passesCard = (f) =>
  card(
    'tokens per target pass',
    f.tokens_per_pass === null ? null : f.tokens_per_pass.toFixed(2),
    `${count(f.tokens, 'token', 'tokens')} in ${count(f.target_passes, 'target pass', 'target passes')}; ` +
      'plain decoding gives 1. No clock in it.',
    f.expected_tokens_per_pass === null
      ? null
      : `The formula (1 − α^(K+1)) / (1 − α) gives ${f.expected_tokens_per_pass.toFixed(2)}, were all places alike.`,
  );

const share = (hits, all) => (all === 0 ? '–' : hundredths(hits / all));

const acceptanceCard = (f) => card('acceptance', f.examined === 0 ? null : share(f.accepted, f.examined),
  `${f.accepted} kept of ${f.examined} looked at: the α of the formula.`,
  `${f.accepted} kept of ${f.drafted} drafted = ${share(f.accepted, f.drafted)}: what engines print.`,
  f.overlap_mean === null ? null : `Mean overlap Σ min(p, q) = ${f.overlap_mean.toFixed(2)}: the chance, not the coins.`);

const NO_CLOCK = 'The toy has no forwards to time.';

const speedupWords = (speedup) => `${gainWords(speedup)}.${speedup.low < speedup.high ? ` Its rounds:${boundsWords(speedup)}.` : ''}`;

const modelledCard = (f, isToy) => {
  const modelled = speedupOf(f, 'modelled');
  const missing = isToy ? NO_CLOCK : "Needs this pair's timings: they are measured once, after loading.";
  return card(
    'modelled speedup',
    modelled && figureWords(modelled),
    modelled && !isToy ? `From the pair's timings: ${speedupWords(modelled)}` : missing,
    f.speedup_ideal === null ? null : `With free extra rows and no overhead it would be ${times(f.speedup_ideal)}.`,
  );
};

const measuredCard = (f, isToy, trace, race) => {
  const measured = speedupOf(f, 'measured');
  const missing = isToy ? NO_CLOCK : 'Needs the plain loop, really run: press “Time the plain loop”.';
  const where = `Both loops really ran ${roundsWords(trace)}, on ${trace.machine || 'this machine'}: `;
  return card(
    'measured speedup',
    measured && figureWords(measured),
    measured && !isToy ? `${where}${speedupWords(measured)}` : missing,
    race,
  );
};

// The folded line: up to the present beat, and the whole run.
/** @type {(place: HTMLElement, counts: Counts, totals: ?Totals) => void} */
export const drawSpeedLine = (place, counts, totals) => {
  const sofar = counts.passes === 0 ? '–' : (counts.tokens / counts.passes).toFixed(2);
  place.replaceChildren(
    'so far ',
    make('b', '', sofar),
    ' tokens per target pass ',
    make('small', '', `(${counts.tokens} in ${counts.passes})`),
    ...(totals ? [' · whole run ', make('b', '', (totals.tokens / totals.target_passes).toFixed(2))] : []),
  );
};

/** @type {(place: HTMLElement, trace: Trace, figures: ?Figures) => void} */
export const drawSpeed = (place, trace, figures) => {
  const isToy = trace.settings.pair === 'toy';
  place.replaceChildren(
    ...(figures
      ? [
          passesCard(figures),
          acceptanceCard(figures),
          modelledCard(figures, isToy),
          measuredCard(figures, isToy, trace, raceInvitation(trace)),
        ]
      : [make('p', 'sv-hint', 'The figures come when the run has ended.')]),
  );
};

// The chart beside the figures is plotly's; a line in each of its panels follows the player. No request is made.
/** @type {(step: number) => void} */
export const markChart = (step) => {
  if (!document.body.classList.contains('sv-unfolded')) return;
  const chart = document.querySelector('#chart .js-plotly-plot');
  if (!chart?.layout || !window.Plotly) return;
  const panels = Object.keys(chart.layout)
    .filter((name) => name.startsWith('xaxis'))
    .map((name) => name.slice(5));
  const fixed = (chart.layout.shapes ?? []).filter((shape) => shape.name !== 'now');
  const marks = panels.map((panel) => ({
    name: 'now',
    type: 'line',
    xref: `x${panel}`,
    yref: `y${panel} domain`,
    x0: step,
    x1: step,
    y0: 0,
    y1: 1,
    line: { color: getComputedStyle(document.body).getPropertyValue('--sv-ink').trim(), width: 2 },
  }));
  window.Plotly.relayout(chart, { shapes: [...fixed, ...marks] });
};

// Beside the measured speedup: a race can be watched only where the plain loop's tokens have times.
const raceInvitation = (trace) => {
  if (hasRace()) {
    const node = make('button', 'svi-button', 'Watch the race');
    node.type = 'button';
    node.dataset.do = 'race';
    return node;
  }
  return trace.baseline && !isStandalone()
    ? 'To watch both loops race, each token of the plain one needs its time, which a file does not hold: press Race.'
    : null;
};
