// The speed of the run: three kinds of figures, never mixed, each with what it means.

const times = (x) => `${x.toFixed(2)}×`;

const comparedWithOne = (x) => {
  if (x < 1) return `slower than plain decoding: it takes ${((1 / x - 1) * 100).toFixed(0)} % longer`;
  return x === 1 ? 'as fast as plain decoding' : `faster than plain decoding: it takes ${((1 - 1 / x) * 100).toFixed(0)} % less time`;
};

const card = (title, value, ...lines) => {
  const shown = value === null ? make('div', 'sv-figure sv-missing', '–') : make('div', 'sv-figure', value);
  return make('section', 'sv-card', make('h3', '', title), shown, ...lines.filter(Boolean).map((line) => make('p', '', line)));
};

const passesCard = (f) => card('tokens per target pass', f.tokens_per_pass === null ? null : f.tokens_per_pass.toFixed(2),
  `${count(f.tokens, 'token', 'tokens')} in ${count(f.target_passes, 'target pass', 'target passes')}; plain decoding gives 1. No clock in it.`,
  f.expected_tokens_per_pass === null ? null : `The formula (1 − α^(K+1)) / (1 − α) gives ${f.expected_tokens_per_pass.toFixed(2)}, were all places alike.`);

const share = (hits, all) => (all === 0 ? '–' : (hits / all).toFixed(2));

const acceptanceCard = (f) => card('acceptance', f.examined === 0 ? null : share(f.accepted, f.examined),
  `${f.accepted} kept of ${f.examined} looked at: the α of the formula.`,
  `${f.accepted} kept of ${f.drafted} drafted = ${share(f.accepted, f.drafted)}: what engines print.`,
  f.overlap_mean === null ? null : `Mean overlap Σ min(p, q) = ${f.overlap_mean.toFixed(2)}: the chance, not the coins.`);

const NO_CLOCK = 'The toy has no forwards to time.';

const modelledCard = (f, isToy) => card('modelled speedup', f.speedup_modelled === null ? null : times(f.speedup_modelled),
  isToy ? NO_CLOCK : f.speedup_modelled === null ? "Needs this pair's timings: they are measured once, after loading." : `From the pair's timings: ${comparedWithOne(f.speedup_modelled)}.`,
  f.speedup_ideal === null ? null : `With free extra rows and no overhead it would be ${times(f.speedup_ideal)}.`);

const measuredCard = (f, isToy) => card('measured speedup', f.speedup_measured === null ? null : times(f.speedup_measured),
  isToy ? NO_CLOCK : f.speedup_measured === null ? 'Needs the plain loop, really run: press “Time the plain loop”.' : `Both loops really ran, here: ${comparedWithOne(f.speedup_measured)}.`,
  f.speedup_measured === null ? null : 'One after the other: what else this machine did meanwhile is in it.');

const drawSpeed = (place, trace, figures) => {
  if (!figures) {
    const totals = trace.steps.at(-1)?.totals;
    place.replaceChildren(...(totals ? [make('p', 'sv-sofar', 'so far ', make('b', '', (totals.tokens / totals.target_passes).toFixed(2)),
      ` tokens per target pass (${totals.tokens} in ${totals.target_passes})`)] : []));
    return;
  }
  const isToy = trace.settings.pair === 'toy';
  place.replaceChildren(passesCard(figures), acceptanceCard(figures), modelledCard(figures, isToy), measuredCard(figures, isToy));
};
