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
  const node = make('button', 'sv-end', isPhone() ? 'end the captions' : 'Esc ends the captions');
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
  const notice = noticeNow();
  if (notice) {
    part('line').replaceChildren(notice);
    return;
  }
  const fault = trace.settings.fault ? [make('b', 'sv-fault', `deliberate mistake: ${trace.settings.fault}`), ' · '] : [];
  const look = recorded ? [make('b', '', recorded.title), isPredicting() ? ' · ' : ` · ${recorded.look_for} `] : [];
  const about = titleOf(trace, !state.live && !isPredicting());
  part('line').replaceChildren(...fault, ...branchMark(trace), ...look, make('span', 'sv-about', about));
  part('line').title = about;
};

const drawInspected = () => {
  const cell = shownCell();
  window.specvizSpot = cell && { step: cell.step, position: cell.position, state: cell.state }; // for the labs
  const step = cell && stepOf(cell.step);
  const known = cell && kindOf(step, cell.step < currentBeat().step ? viewOf(step, beatsOfStep(step).at(-1)) : currentView(), cellsOf(step).find((each) => sameCell(each, cell)));
  const trace = { ...state.trace, steps: state.trace.steps.map((each) => (each.step === step?.step ? step : each)) };
  drawInspector(part('details'), trace, cell && { step: cell.step, position: cell.position, state: cell.state }, cell && kindShown(cellsOf(step).find((each) => sameCell(each, cell)), known));
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
  part('open').replaceChildren(openStep(state.trace, step, view, cellOfBeat(step, currentBeat())?.position ?? 1));
  if (focused) part('open').querySelectorAll('.sv-cell')[place]?.focus({ preventScroll: true });
  grid.setAttribute('aria-rowcount', step.step);
};

const drawBeat = () => {
  drawKeptBack();
  const beat = currentBeat();
  const step = currentStep();
  const view = currentView();
  drawGrid(step, view);
  const revealed = ribbonAt(output, step, view, beat);
  drawRibbon(part('ribbon'), state.trace, output, revealed);
  drawComparison(part('both'), part('ribbon'), revealed.length);
  drawStepClock(part('clock'), state.trace, step, view);
  if (isPredicting()) part('clock').hidden = true; // its scale would tell how many tokens are to come
  const counts = countsAt(state.clock, state.at, step);
  drawLegend(part('legend'), counts);
  drawSpeedLine(part('sofar'), counts, state.live || isPredicting() ? null : state.trace.steps.at(-1)?.totals);
  drawWhere(part('where'), state.trace, beat);
  markSkyline(part('skyline'), beat, `step ${beat.step}, ${beatWords(beat)}`);
  markChart(beat.step);
  drawLine();
  drawNotes();
  drawInspected();
  drawPredict();
  drawEndCard();
  drawNewest(part('past'), state.trace, pastSteps()); // the first to ask for a layout
  scrollDown(part('ribbon'));
};

// A beat in words, but for what is being asked at it.
const sayNow = () => [isAsking() ? '' : sayBeat(state.trace, currentStep(), currentBeat()), sayPrediction(), sayEnd()].join(' ').trim();

const drawSkylineNow = () => drawSkyline(part('skyline'), state.trace, isPredicting() && hasBeats() ? state.clock.beats[game().reached].step : null);

const drawFigures = () => {
  if (isPredicting()) part('speed').replaceChildren(make('p', 'sv-hint', 'The figures of the whole run come at its end, or when you stop predicting.'));
  else drawSpeed(part('speed'), state.trace, state.figures);
};

// What of the whole run is on the page; while predicting, what has been revealed of it.
const drawKeptBack = () => {
  const before = document.body.classList.contains('sv-predicting');
  document.body.classList.toggle('sv-predicting', isPredicting());
  if (before === isPredicting()) {
    if (before) drawSkylineNow();
    return;
  }
  part('skyline').dataset.run = '';
  drawSkylineNow();
  drawFigures();
  root.querySelectorAll('.sv-jumps button').forEach((node) => node.setAttribute('aria-disabled', isPredicting()));
  window.dispatchEvent(new CustomEvent('specviz:predicting'));
};

const predictingChanged = () => {
  if (hasBeats()) beatChanged();
  else writeLink();
};

const answerChanged = () => {
  drawBeat();
  part('aloud').textContent = sayPrediction();
};

const noticeChanged = () => {
  drawPredict();
  part('aloud').textContent = predicting.notice;
};

// What the state calls when it has changed.
const beatChanged = () => {
  drawBeat();
  if (isPhone()) keepInView();
  part('aloud').textContent = sayNow();
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
  drawPredict();
  drawEndCard();
  ['open', 'clock', 'legend', 'sofar', 'where', 'skyline'].forEach((name) => part(name).replaceChildren());
  part('past').firstElementChild.replaceChildren();
  drawLine();
  part('details').replaceChildren(make('p', 'sv-hint', 'This run has no step.'));
  drawRibbon(part('ribbon'), state.trace, output, { length: 0, struck: [], waiting: [] });
};

const draw = () => {
  const message = props.value ? JSON.parse(props.value) : null;
  if (message) noteMessage(message);
  showMessage(message);
};

const showMessage = (message) => {
  root.dataset.phase = message ? (message.live ? 'live' : 'done') : 'empty';
  if (!message) return;
  takeMessage(message);
  takeBranch(message);
  noteRace(message);
  if (!message.live) ['grid', 'ribbon', 'skyline'].forEach((name) => { part(name).dataset.run = ''; }); // whatever was drawn may have changed
  state.at = askedBeat() ?? linkedBeat() ?? state.at;
  proposeLinked();
  window.specvizRun = askedFor(state.trace);
  tellControls();
  output = outputOf(state.trace);
  drawHeading(part('heading'), state.trace);
  if (hasBeats()) noteReached(state.at);
  drawSkylineNow();
  drawFigures();
  if (hasBeats()) drawBeat();
  else drawWithoutSteps();
  playingChanged();
  openRaceOnce(message);
  presentIfLinked();
  if (!message.live) window.dispatchEvent(new Event('specviz:run')); // for the labs
};

const chooseNode = (node) => {
  if (!node.dataset.position) return;
  const cell = cellsOf(stepOf(Number(node.dataset.step))).find((each) => each.position === Number(node.dataset.position)
    && isFinal(each) === 'final' in node.dataset);
  choose(cell);
  openSheet(node);
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
  if (on('[data-close]')) closeSheet();
  else if (on('[data-do]')) DOES[on('[data-do]').dataset.do]();
  else if (on('[data-speed]')) setSpeed(on('[data-speed]').dataset.speed);
  else if (on('[data-next]')) moveToNext(on('[data-next]').dataset.next);
  else if (on('[data-part="fold"]')) fold();
  else if (on('.sv-cell')) chooseNode(on('.sv-cell'));
  else if (on('.sv-out')) goToToken(on('.sv-out'));
});

const goToToken = (node) => {
  const { step, position, state: kind } = node.dataset;
  const cell = cellsOf(stepOf(Number(step))).find((each) => each.position === Number(position) && (each.state === kind || !isFinal(each)));
  if (kind === 'ghost' || kind === 'struck') choose(cell);
  else moveToCell(cell);
};

element.addEventListener('keydown', (event) => {
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
listenToShare();
followLesson();
drawNotes();
listenForBranches();
listenToRace();
listenToPanel();
listenToPresenter();
listenToPhone();
new ResizeObserver(resized).observe(part('left'));

predicting.on = linked('predict') === '1';
watch('value', draw);
draw();
root.dataset.ready = '';
