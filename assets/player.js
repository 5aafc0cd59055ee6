// Joins the parts: reads the one JSON string, keeps what is selected, listens.

const part = (name) => element.querySelector(`[data-part="${name}"]`);
const state = { trace: null, figures: null, selected: null };

// A live message holds only the latest steps; they join those that came before.
const merge = (message) => {
  const before = state.trace;
  if (!message.live || !before || before.run_id !== message.trace.run_id) return message.trace;
  const known = new Map([...before.steps, ...message.trace.steps].map((step) => [step.step, step]));
  const steps = [...known.values()].sort((a, b) => a.step - b.step);
  return { ...message.trace, steps, tokens: { ...before.tokens, ...message.trace.tokens } };
};

const firstToRead = (trace) => {
  const cells = trace.steps.flatMap(cellsOf);
  return cells.find((cell) => cell.state === 'rejected') ?? cells[0] ?? null;
};

const markSelected = () => {
  element.querySelectorAll('.sv-chosen').forEach((node) => node.classList.remove('sv-chosen'));
  if (!state.selected) return;
  const { step, position, state: cellState } = state.selected;
  element.querySelectorAll(`[data-step="${step}"][data-position="${position}"][data-state="${cellState}"]`)
    .forEach((node) => node.classList.add('sv-chosen'));
};

const select = (key) => {
  state.selected = key && { step: Number(key.step), position: Number(key.position), state: key.state };
  drawDetails(part('details'), state.trace, state.selected);
  markSelected();
};

const cellNodes = () => [...part('grid').querySelectorAll('.sv-cell')];

const nodeOf = (key) => cellNodes().find((node) => Number(node.dataset.step) === Number(key.step)
  && Number(node.dataset.position) === Number(key.position) && node.dataset.state === key.state);

const reveal = (node) => {
  const box = part('scroll');
  if (box.scrollHeight <= box.clientHeight) {
    node.scrollIntoView({ block: 'nearest' }); // on a phone the page scrolls, and a sheet covers its lower half
    return;
  }
  const above = node.getBoundingClientRect().top - box.getBoundingClientRect().top;
  if (above < 40 || above + node.offsetHeight > box.clientHeight) box.scrollTop += above - box.clientHeight / 3;
};

const focusCell = (node) => {
  cellNodes().forEach((each) => { each.tabIndex = -1; });
  node.tabIndex = 0;
  node.focus({ preventScroll: true });
  reveal(node);
};

const nextOf = (wanted) => {
  const nodes = cellNodes();
  const from = state.selected ? nodes.indexOf(nodeOf(state.selected)) : -1;
  const order = [...nodes.slice(from + 1), ...nodes.slice(0, from + 1)];
  const isWanted = (node) => (wanted === 'alone' ? 'alone' in node.dataset : node.dataset.state === wanted && !('alone' in node.dataset));
  return order.find(isWanted);
};

const neighbour = (node, key) => {
  const row = node.closest('.sv-step');
  const inRow = [...row.querySelectorAll('.sv-cell')];
  const at = inRow.indexOf(node);
  if (key === 'ArrowRight') return inRow[at + 1];
  if (key === 'ArrowLeft') return inRow[at - 1];
  if (key === 'Home') return inRow[0];
  if (key === 'End') return inRow[inRow.length - 1];
  const other = key === 'ArrowDown' ? row.nextElementSibling : row.previousElementSibling;
  const cells = other ? [...other.querySelectorAll('.sv-cell')] : [];
  return cells[Math.min(at, cells.length - 1)];
};

const showHeading = (trace, settled) => {
  const { settings, weights } = trace;
  const draft = DRAFT_KINDS[settings.draft.kind] ?? settings.draft.name;
  const where = weights?.target ? ` · ${weights.target.dtype} on ${weights.target.device}` : '';
  const stop = settled ? ` · ${WHY_STOPPED[trace.stop]}` : '';
  part('about').textContent = `${settings.pair} with ${draft} as draft · K ${settings.k} · temperature ${settings.temperature} · seed ${settings.seed}${where}${stop}`;
};

const draw = () => {
  const message = props.value ? JSON.parse(props.value) : null;
  element.querySelector('.sv-player').dataset.phase = message ? (message.live ? 'live' : 'done') : 'empty';
  if (!message) return;
  const sameRun = state.trace && state.trace.run_id === message.trace.run_id;
  state.trace = merge(message);
  state.figures = message.figures ?? null;
  showHeading(state.trace, !message.live);
  drawRibbon(part('ribbon'), state.trace);
  part('ribbon').scrollTop = message.live ? part('ribbon').scrollHeight : 0;
  drawHeading(part('heading'), state.trace);
  drawGrid(part('grid'), state.trace);
  drawLegend(part('legend'), state.trace);
  drawSpeed(part('speed'), state.trace, state.figures);
  const chosen = sameRun ? state.selected : null;
  select(chosen ?? (message.live ? null : firstToRead(state.trace)));
  if (chosen) return; // somebody is reading: leave the grid where it is
  part('scroll').scrollTop = message.live ? part('scroll').scrollHeight : 0;
};

// On a phone the chosen cell's text is a sheet from below; elsewhere it always stands beside the grid.
const sheet = (open) => { element.querySelector('.sv-player').dataset.sheet = open ? 'open' : 'closed'; };

element.addEventListener('click', (event) => {
  if (event.target.closest('[data-close]')) {
    sheet(false);
    return;
  }
  const key = event.target.closest('[data-next]');
  const cell = key ? nextOf(key.dataset.next) : event.target.closest('[data-step]');
  if (!cell) return;
  select(cell.dataset);
  sheet(true);
  const node = nodeOf(cell.dataset);
  if (key) reveal(node);
  else focusCell(node);
});

element.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') sheet(false);
  const node = event.target.closest('.sv-cell');
  if (!node) return;
  if (event.key === 'Enter' || event.key === ' ') {
    select(node.dataset);
    sheet(true);
  } else if (/^(Arrow|Home|End)/.test(event.key)) {
    const next = neighbour(node, event.key);
    if (next) focusCell(next);
  } else return;
  event.preventDefault();
});

watch('value', draw);
draw();
