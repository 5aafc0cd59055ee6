// The step grid: a row a step, a column a draft position, then the target's own token.

const spoken = (trace, cell) => {
  const parts = [`step ${cell.step}, position ${cell.position}`, nameOf(trace.tokens, cell.id), stateOf(cell).word];
  if (cell.q !== null && cell.state !== 'bonus') parts.push(`q ${number(cell.q)}`);
  if (cell.p !== null) parts.push(`p ${number(cell.p)}`);
  if (cell.coin !== null && cell.coin !== undefined) parts.push(`ratio ${ratioText(cell.ratio)}`, `coin ${number(cell.coin)}`);
  return parts.join(', ');
};

const probabilities = (cell) => make('div', 'sv-pq',
  cell.state === 'bonus' ? null : make('span', 'sv-q', `q ${number(cell.q)}`),
  cell.p === null ? null : make('span', 'sv-p', `p ${number(cell.p)}`));

const examined = (cell) => {
  const [coin, ratio] = cell.ratio < 1 ? apart(cell.coin, cell.ratio) : [number(cell.coin), ratioText(cell.ratio)];
  return [
    ruler(cell.ratio, cell.coin, coinMatters(cell)),
    make('div', 'sv-note', make('span', 'sv-ratio', `p/q ${ratio}`), make('span', 'sv-coin', `coin ${coin}`)),
  ];
};

const footnote = (cell) => {
  if (cell.state === 'discarded') return 'not looked at';
  if (cell.alone) return "the target's own draw";
  if (cell.state === 'bonus') return 'one more, free';
  if (cell.fallback) return 'drawn from p: nothing was owed';
  return `owed share ${number(cell.share)}`;
};

const drawCell = (trace, cell) => {
  const head = make('div', 'sv-head', tokenNode(trace.tokens, cell.id), make('span', 'sv-glyph', STATES[cell.state].glyph));
  const body = cell.coin === null || cell.coin === undefined
    ? [make('div', 'sv-note', make('span', '', footnote(cell)))]
    : examined(cell);
  const node = make('div', `sv-cell sv-${cell.state}`, head, probabilities(cell), ...body);
  node.setAttribute('role', 'gridcell');
  node.setAttribute('aria-label', spoken(trace, cell));
  node.title = nameOf(trace.tokens, cell.id);
  node.tabIndex = -1;
  if (cell.alone) node.dataset.alone = '';
  Object.assign(node.dataset, { step: cell.step, position: cell.position, state: cell.state });
  return node;
};

const emptyNote = (trace, step) => {
  if (step.k === trace.settings.k || !step.k_reason) return null;
  const drafted = step.k === 0 ? 'nothing drafted' : `only ${step.k} drafted`;
  return make('div', 'sv-fewer', `${drafted}: ${WHY_FEWER[step.k_reason]}`);
};

const drawStep = (trace, step) => {
  const cells = cellsOf(step);
  const gained = cells.filter(inOutput).length;
  const label = make('div', 'sv-number', make('b', '', String(step.step)), make('small', '', `+${gained}`));
  label.setAttribute('role', 'rowheader');
  label.setAttribute('aria-label', `step ${step.step}, ${count(gained, 'token', 'tokens')}`);
  const drafts = make('div', 'sv-drafts', ...cells.filter((cell) => !('kind' in cell)).map((cell) => drawCell(trace, cell)), emptyNote(trace, step));
  const final = cells.find((cell) => 'kind' in cell);
  const last = make('div', 'sv-final', final ? drawCell(trace, final) : make('div', 'sv-none', 'none: the end token was kept'));
  drafts.setAttribute('role', 'presentation');
  last.setAttribute('role', 'presentation');
  const row = make('div', step.k ? 'sv-step' : 'sv-step sv-undrafted', label, drafts, last);
  row.setAttribute('role', 'row');
  row.dataset.row = step.step;
  return row;
};

const drawHeading = (place, trace) => {
  const { k } = trace.settings;
  const proposes = k === 0 ? 'nothing is drafted (K = 0)' : `draft proposes 1${k > 1 ? ` … ${k}` : ''}`;
  place.replaceChildren(make('span', '', 'step'), make('span', '', proposes), make('span', '', "the target's own token"));
};

// Steps never change once they are made, so only new ones are drawn.
const drawGrid = (place, trace) => {
  if (place.dataset.run !== trace.run_id) {
    place.replaceChildren();
    place.dataset.run = trace.run_id;
    place.style.setProperty('--k', Math.max(1, trace.settings.k));
    place.toggleAttribute('data-dense', trace.settings.k > 4);
  }
  const drawn = new Set([...place.children].map((row) => Number(row.dataset.row)));
  const fresh = trace.steps.filter((step) => !drawn.has(step.step));
  place.append(...fresh.map((step) => drawStep(trace, step)));
  const first = place.querySelector('.sv-cell');
  if (first && !place.querySelector('.sv-cell[tabindex="0"]')) first.tabIndex = 0;
};

const drawLegend = (place, trace) => {
  const counts = countStates(trace);
  const kinds = Object.entries(counts.alone ? { ...STATES, alone: ALONE } : STATES);
  place.replaceChildren(...kinds.map(([state, { glyph, many }]) => {
    const node = make('button', `sv-key sv-${state}`, make('span', 'sv-glyph', glyph), make('b', '', String(counts[state])), many);
    node.type = 'button';
    node.dataset.next = state;
    node.title = `go to the next: ${many}`;
    return node;
  }));
};
