// One cell in plain words, with the rule and this cell's numbers in it.

const q = (x) => make('b', 'sv-q', number(x));
const p = (x) => make('b', 'sv-p', number(x));
const sentence = (...parts) => make('p', 'sv-say', ...parts);
const formula = (...parts) => make('p', 'sv-formula', ...parts);

const ruleFormula = (cell) => {
  const chance = Math.min(1, cell.ratio);
  const [coin, bound] = apart(cell.coin, chance);
  return formula(`${coin} < min(1, `, make('span', 'sv-p', 'p'), '/', make('span', 'sv-q', 'q'), ') = min(1, ', p(cell.p), '/', q(cell.q), ') = ',
    make('b', '', bound), '? ', make('b', '', cell.state === 'accepted' ? 'yes' : 'no'));
};

const bigRuler = (cell) => {
  const chance = Math.min(1, cell.ratio);
  const at = (className, where, text) => {
    const node = make('span', className, text);
    node.style.left = `${100 * where}%`;
    return node;
  };
  const [coin, bound] = apart(cell.coin, chance);
  const ticks = [[0, '0'], [chance, bound], [1, '1']].filter(([where]) => where === chance || Math.abs(where - chance) > 0.1);
  return make('div', 'sv-scale', at('sv-flag', Math.min(0.86, Math.max(0.14, cell.coin)), `coin ${coin}`), ruler(chance, cell.coin, coinMatters(cell)),
    ...ticks.map(([where, text]) => at('sv-tick', where, text)));
};

const whyKept = (cell) => {
  if (cell.ratio >= 1) return 'at least as much, so it is kept whatever the coin says.';
  return 'a little less, and the coin fell below p/q.';
};

const whyRejected = (cell) => (cell.p === 0 ? 'nothing at all, so no coin could keep it.' : 'less, and the coin did not fall below p/q.');

const acceptedText = (trace, cell) => sentence(tokenNode(trace.tokens, cell.id), ' was kept. The draft gave it ', q(cell.q), ', the target ', p(cell.p), ': ', whyKept(cell));

const rejectedText = (trace, cell) => {
  const instead = cellAt(trace, { ...cell, state: 'residual' });
  return sentence(tokenNode(trace.tokens, cell.id), ' was rejected. The draft gave it ', q(cell.q), ', the target ', p(cell.p), ': ', whyRejected(cell),
    ...(instead ? [' ', tokenNode(trace.tokens, instead.id), ' takes its place.'] : []));
};

const discardedText = (trace, cell) => {
  const step = trace.steps.find((each) => each.step === cell.step);
  const rejected = step.drafts.find((draft) => draft.state === 'rejected');
  return sentence(tokenNode(trace.tokens, cell.id), ' was not looked at: ',
    ...(rejected ? ['it was drafted after ', tokenNode(trace.tokens, rejected.id), ', which was rejected.'] : ['the end token before it was kept.']));
};

const residualText = (trace, cell) => {
  const rejected = cellAt(trace, { ...cell, state: 'rejected' });
  return sentence(tokenNode(trace.tokens, cell.id), ' takes the place of ', ...(rejected ? [tokenNode(trace.tokens, rejected.id)] : ['the rejected draft']),
    cell.fallback ? '. Nothing was owed, so it was drawn from p itself.'
      : ', drawn from what the target is still owed: the mass where p is above q.');
};

const bonusText = (trace, cell) => {
  const name = tokenNode(trace.tokens, cell.id);
  if (cell.alone) return sentence(name, " is the target's own draw: nothing was drafted in this step.");
  return sentence('Every draft of this step was kept, so the same target pass gives one more token: ', name, ', drawn from p.');
};

const drawFormula = (cell) => {
  const chance = make('b', '', number(cell.share));
  if (cell.state === 'bonus' || cell.fallback) return formula('drawn with ', make('span', 'sv-p', 'p'), ' = ', p(cell.p));
  return formula('drawn with (', make('span', 'sv-p', 'p'), ' − ', make('span', 'sv-q', 'q'), ') / owed = (', p(cell.p), ' − ', q(cell.q), `) / ${number(cell.mass)} = `, chance);
};

const TEXTS = { accepted: acceptedText, rejected: rejectedText, discarded: discardedText, residual: residualText, bonus: bonusText };

const fact = (name, value) => (value === null || value === undefined ? [] : [make('dt', '', name), make('dd', '', value)]);

const digits = (x, n = 6) => (x === null || x === undefined ? null : String(Number(x.toPrecision(n))));

// The uniform that drew this token, and the token's own interval (a trace opened from CSV has none).
const drawn = (cell) => {
  const u = digits(cell.u_draft ?? cell.u);
  return cell.low === null ? u : `${u} in [${digits(cell.low)}, ${digits(cell.high)})`;
};

const facts = (trace, cell) => make('dl', 'sv-facts',
  ...fact('token id', String(cell.id)),
  ...fact('q, the draft', cell.state === 'bonus' ? null : digits(cell.q)),
  ...fact('p, the target', digits(cell.p)),
  ...fact('p/q', digits(cell.ratio)),
  ...fact('accept coin', digits(cell.coin)),
  ...fact('draw', drawn(cell)),
  ...fact('overlap of p and q', cell.state === 'discarded' || cell.state === 'bonus' ? null : digits(cell.overlap, 3)));

const bar = (kind, share) => {
  const fill = make('i', `sv-bar-${kind}`);
  fill.style.width = `${100 * share}%`;
  return make('div', 'sv-bar', fill);
};

// What both models thought of the likeliest tokens at this place.
const laws = (trace, cell) => {
  const row = rowOf(trace, cell);
  if (!row || cell.state === 'discarded') return null;
  const weight = (i) => Math.max(row.p[i] ?? 0, row.q?.[i] ?? 0);
  const best = row.ids.map((_, i) => i).sort((a, b) => (row.ids[b] === cell.id) - (row.ids[a] === cell.id) || weight(b) - weight(a)).slice(0, 6);
  const withDraft = cell.state !== 'bonus';
  const lines = best.flatMap((i) => [
    tokenNode(trace.tokens, row.ids[i], row.ids[i] === cell.id ? 'sv-token sv-here' : 'sv-token'),
    make('div', 'sv-lanes', withDraft ? bar('q', row.q[i]) : null, bar('p', row.p[i])),
    make('div', 'sv-lane-numbers', withDraft ? make('span', 'sv-q', number(row.q[i])) : null, make('span', 'sv-p', number(row.p[i]))),
  ]);
  const title = make('p', 'sv-laws-title', withDraft ? make('span', 'sv-q', 'draft q') : null, withDraft ? ' and ' : null, make('span', 'sv-p', 'target p'), ' at this place');
  return make('div', 'sv-laws', title, make('div', 'sv-laws-grid', ...lines));
};

const closeButton = () => {
  const node = make('button', 'sv-close', '✕');
  node.type = 'button';
  node.dataset.close = '';
  node.setAttribute('aria-label', 'close');
  return node;
};

const drawDetails = (place, trace, key) => {
  const cell = key && cellAt(trace, key);
  if (!cell) {
    place.replaceChildren(make('p', 'sv-hint', 'Choose a cell to read what happened there.'));
    return;
  }
  const title = make('p', 'sv-where', `step ${cell.step} · position ${cell.position} · `, make('b', '', `${stateOf(cell).glyph} ${stateOf(cell).word}`));
  const tossed = cell.coin !== null && cell.coin !== undefined;
  const isFinal = cell.state === 'residual' || cell.state === 'bonus';
  place.replaceChildren(closeButton(), title, TEXTS[cell.state](trace, cell), ...(tossed ? [bigRuler(cell), ruleFormula(cell)] : []),
    ...(isFinal ? [drawFormula(cell)] : []), ...[laws(trace, cell)].filter(Boolean), facts(trace, cell));
};
