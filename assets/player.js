// Joins the parts: reads the one JSON string, draws what the state says, listens.

const part = (name) => element.querySelector(`[data-part="${name}"]`);
const root = element.querySelector('.sv-player');
let output = { cells: [], texts: [] };

const titleOf = (trace, settled) => {
  const { settings, weights } = trace;
  const draft = DRAFT_KINDS[settings.draft.kind] ?? settings.draft.name;
  const where = weights?.target ? ` · ${weights.target.dtype} on ${weights.target.device}` : '';
  const stop = settled ? ` · ${WHY_STOPPED[trace.stop]}` : '';
  return `${settings.pair} with ${draft} as draft · K ${settings.k} · temperature ${settings.temperature} · seed ${settings.seed}${where}${stop}`;
};

const endButton = () => {
  const node = make('button', 'sv-end', 'Esc ends the captions');
  node.type = 'button';
  node.dataset.do = 'captions';
  return node;
};

// One line above the controls: a caption, or what to look for in this run, and what was run.
const drawLine = () => {
  const { trace, recorded } = state;
  const caption = captionNow();
  part('line').toggleAttribute('data-caption', caption !== null);
  if (caption) {
    part('line').replaceChildren(make('span', 'sv-caption', caption.text), endButton());
    return;
  }
  const fault = trace.settings.fault ? [make('b', 'sv-fault', `deliberate mistake: ${trace.settings.fault}`), ' · '] : [];
  const look = recorded ? [make('b', '', recorded.title), ` · ${recorded.look_for} `] : [];
  const about = titleOf(trace, !state.live);
  part('line').replaceChildren(...fault, ...look, make('span', 'sv-about', about));
  part('line').title = about;
};

const drawInspected = () => {
  const cell = shownCell();
  window.specvizSpot = cell && { step: cell.step, position: cell.position, state: cell.state }; // for the labs
  const step = cell && state.clock.steps[cell.step];
  const known = cell && kindOf(step, cell.step < currentBeat().step ? viewOf(step, beatsOfStep(step).at(-1)) : currentView(), cellsOf(step).find((each) => sameCell(each, cell)));
  drawInspector(part('details'), state.trace, cell && { step: cell.step, position: cell.position, state: cell.state }, known);
  root.querySelectorAll('.sv-chosen').forEach((node) => node.classList.remove('sv-chosen'));
  if (!cell) return;
  root.querySelectorAll(`[data-step="${cell.step}"][data-position="${cell.position}"]`).forEach((node) => {
    if (isFinal(cell) === 'final' in node.dataset || node.classList.contains('sv-out')) node.classList.toggle('sv-chosen', isNodeOf(node, cell));
  });
};

// A cell in the document carries its state only once that has been revealed.
const isNodeOf = (node, cell) => node.dataset.state === cell.state || (!(node.dataset.state in STATES) && !isFinal(cell));

const scrollDown = (place) => { place.scrollTop = place.scrollHeight; };

const pastSteps = () => state.trace.steps.filter((step) => step.step < currentBeat().step);

const drawScrolled = () => drawPast(part('past'), state.trace, pastSteps(), part('past').scrollTop);

const resized = () => {
  if (!hasBeats()) return;
  forgetRows(part('grid'), state.trace);
  drawNewest(part('past'), state.trace, pastSteps());
};

const drawGrid = (step, view) => {
  const grid = part('grid');
  if (grid.dataset.run !== state.trace.run_id) forgetRows(grid, state.trace);
  const focused = document.activeElement?.closest?.('.sv-now .sv-cell');
  const place = focused && [...part('open').querySelectorAll('.sv-cell')].indexOf(focused);
  part('open').replaceChildren(openStep(state.trace, step, view));
  if (focused) part('open').querySelectorAll('.sv-cell')[place]?.focus({ preventScroll: true });
  grid.setAttribute('aria-rowcount', step.step);
};

const drawBeat = () => {
  const beat = currentBeat();
  const step = currentStep();
  const view = currentView();
  drawGrid(step, view);
  drawRibbon(part('ribbon'), state.trace, output, ribbonAt(output, step, view, beat));
  drawStepClock(part('clock'), state.trace, step, view);
  const counts = countsAt(state.clock, state.at);
  drawLegend(part('legend'), counts);
  drawSpeedLine(part('sofar'), counts, state.trace.steps.at(-1)?.totals, state.live);
  drawWhere(part('where'), state.trace, beat);
  markSkyline(part('skyline'), beat, `step ${beat.step}, ${beatWords(beat)}`);
  markChart(beat.step);
  drawLine();
  drawInspected();
  drawNewest(part('past'), state.trace, pastSteps()); // the first to ask for a layout
  scrollDown(part('ribbon'));
};

// What the state calls when it has changed.
const beatChanged = () => {
  drawBeat();
  part('aloud').textContent = sayBeat(state.trace, currentStep(), currentBeat());
  writeLink();
};

const captionsChanged = () => drawLine();

const choiceChanged = () => drawInspected();

const playingChanged = () => {
  drawTransport(part('transport'));
  wind();
  writeLink();
};

const drawWithoutSteps = () => {
  window.specvizSpot = null;
  ['open', 'clock', 'legend', 'sofar', 'where', 'skyline'].forEach((name) => part(name).replaceChildren());
  part('past').firstElementChild.replaceChildren();
  drawLine();
  part('details').replaceChildren(make('p', 'sv-hint', 'This run has no step.'));
  drawRibbon(part('ribbon'), state.trace, output, { length: 0, struck: [], waiting: [] });
};

const draw = () => {
  const message = props.value ? JSON.parse(props.value) : null;
  root.dataset.phase = message ? (message.live ? 'live' : 'done') : 'empty';
  if (!message) return;
  takeMessage(message);
  if (!message.live) ['grid', 'ribbon', 'skyline'].forEach((name) => { part(name).dataset.run = ''; }); // whatever was drawn may have changed
  state.at = askedBeat() ?? linkedBeat() ?? state.at;
  window.specvizRun = askedFor(state.trace);
  tellControls();
  output = outputOf(state.trace);
  drawHeading(part('heading'), state.trace);
  drawSkyline(part('skyline'), state.trace);
  drawSpeed(part('speed'), state.trace, state.figures);
  if (hasBeats()) drawBeat();
  else drawWithoutSteps();
  playingChanged();
  if (!message.live) window.dispatchEvent(new Event('specviz:run')); // for the labs
};

// On a phone the inspector is a sheet from below; elsewhere it always stands beside the grid.
const sheet = (open) => { root.dataset.sheet = open ? 'open' : 'closed'; };

const chooseNode = (node) => {
  if (!node.dataset.position) return;
  const cell = cellsOf(state.clock.steps[node.dataset.step]).find((each) => each.position === Number(node.dataset.position)
    && isFinal(each) === 'final' in node.dataset);
  choose(cell);
  sheet(true);
};

const focusRow = (node, direction) => {
  const rows = [...part('grid').querySelectorAll('.sv-step')];
  const row = node.closest('.sv-step');
  const cells = [...(rows[rows.indexOf(row) + direction]?.querySelectorAll('.sv-cell') ?? [])];
  const next = cells[Math.min([...row.querySelectorAll('.sv-cell')].indexOf(node), cells.length - 1)];
  next?.focus();
};

const fold = () => {
  const open = part('fold').getAttribute('aria-expanded') !== 'true';
  part('fold').setAttribute('aria-expanded', open);
  part('speed').hidden = !open;
  document.body.classList.toggle('sv-unfolded', open);
  window.dispatchEvent(new Event('resize')); // plotly measures its place
  if (open && hasBeats()) markChart(currentBeat().step);
};

element.addEventListener('click', (event) => {
  const on = (selector) => event.target.closest(selector);
  if (on('[data-close]')) sheet(false);
  else if (on('[data-do]')) DOES[on('[data-do]').dataset.do]();
  else if (on('[data-speed]')) setSpeed(on('[data-speed]').dataset.speed);
  else if (on('[data-next]')) moveToNext(on('[data-next]').dataset.next);
  else if (on('[data-part="fold"]')) fold();
  else if (on('.sv-cell')) chooseNode(on('.sv-cell'));
  else if (on('.sv-out')) goToToken(on('.sv-out'));
});

const goToToken = (node) => {
  const { step, position, state: kind } = node.dataset;
  const cell = cellsOf(state.clock.steps[step]).find((each) => each.position === Number(position) && (each.state === kind || !isFinal(each)));
  if (kind === 'ghost' || kind === 'struck') choose(cell);
  else moveToCell(cell);
};

element.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') sheet(false);
  pressInGrid(event);
});
document.addEventListener('keydown', pressKey);
part('past').addEventListener('scroll', () => hasBeats() && drawScrolled(), { passive: true });
part('past').addEventListener('focusin', (event) => {
  part('past').querySelectorAll('.sv-cell').forEach((node) => { node.tabIndex = node.closest('.sv-step').contains(event.target) ? 0 : -1; });
});
listenToSkyline(part('skyline'));
listenToPage();
listenToLessons();
new ResizeObserver(resized).observe(part('left'));

watch('value', draw);
draw();
root.dataset.ready = '';
