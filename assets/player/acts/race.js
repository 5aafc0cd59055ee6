// Race: the dialog in which both loops run again on one clock.

import { isEnd, textOf } from '../run/cells.js';
import { count, seconds } from '../run/numbers.js';
import { endOf, plainEvents, raceFigures, reasonsOfRace, speculativeEvents, tokensIn, verdictOfRace } from '../run/race.js';
import { roundsWords } from '../run/speed.js';
import { readable } from '../run/tokens.js';
import { branching } from '../state/branches.js';
import { part } from '../state/host.js';
import { hasRace, racing, wantsStillness } from '../state/modes.js';
import { stopPlaying } from '../state/moves.js';
import { isPredicting, remind } from '../state/reveal.js';
import { state } from '../state/state.js';
import { make, putInOrder } from '../draw/dom.js';

/** @import { Message } from '../run/types.js' */

/** @type {(message: Message) => void} */
export const noteRace = (message) => {
  const { race, trace } = message;
  if (race) Object.assign(racing, { of: trace.run_id, ms: race.ms, stopped: race.stopped });
  else if (racing.of !== trace.run_id) racing.of = null;
};

// --- the two lanes

const LANE_TITLES = {
  plain: ['plain loop', 'one target pass a token'],
  speculative: ['speculative', 'a draft, then one target pass a step'],
};

const raceLane = (name) => {
  const [title, about] = LANE_TITLES[name];
  const lane = make('section', 'sv-race-lane',
    make('header', '',
      make('h3', '', title),
      make('span', 'sv-race-about', about),
      make('b', 'sv-race-count'),
      make('span', 'sv-race-end'),
    ),
    make('div', 'sv-race-bar', make('i')),
    make('div', 'sv-race-text'),
  );
  lane.dataset.lane = name;
  return lane;
};

// Every token of a lane as a node with the moment when it appears.
const raceTokens = (trace, events) => {
  const cells = events.flatMap((event) => event.cells.map((cell) => ({ ...cell, at: event.at })));
  const shown = cells.filter((cell) => !isEnd(trace, cell));
  const texts = readable(shown.map((cell) => textOf(trace, cell)));
  return shown.map((cell, i) => ({ at: cell.at, node: make('span', `sv-raced sv-${cell.state}`, texts[i]) }));
};

const laneData = () => {
  const { trace } = state;
  return [['plain', plainEvents(trace, racing.ms)], ['speculative', speculativeEvents(trace)]]
    .map(([name, events]) => ({ name, events, tokens: raceTokens(trace, events), end: endOf(events), total: tokensIn(events) }));
};

let raceLanes = [];

const raceEnd = () => Math.max(...raceLanes.map((lane) => lane.end));

const endOfLane = ({ name, events, end, total }) => {
  const passes = count(events.length, 'target pass', 'target passes');
  const perPass = (total / Math.max(1, events.length)).toFixed(2);
  return `${name === 'plain' && racing.stopped ? 'stopped' : 'done'} in ${seconds(end)} · ${passes} · ${perPass} tokens a pass`;
};

const drawRaceLane = (lane, at, most) => {
  const node = part('race').querySelector(`[data-lane="${lane.name}"]`);
  const done = lane.events.filter((event) => event.at <= at);
  const there = tokensIn(done);
  const over = at >= lane.end;
  node.querySelector('.sv-race-count').textContent = count(there, 'token', 'tokens');
  node.querySelector('.sv-race-end').textContent = over ? endOfLane(lane) : '';
  node.querySelector('.sv-race-bar i').style.width = `${(100 * there) / most}%`;
  const text = node.querySelector('.sv-race-text');
  putInOrder(
    text,
    lane.tokens.filter((token) => token.at <= at).map((token) => token.node),
  );
  text.scrollTop = text.scrollHeight;
};

const drawRaceVerdict = (place) => {
  const f = raceFigures(state.trace, state.figures, racing.ms);
  const note = racing.stopped ? 'The plain loop was stopped before its end: its tokens up to there are compared.' : null;
  place.replaceChildren(
    make('p', 'sv-race-verdict', verdictOfRace(f)),
    ...[note, ...reasonsOfRace(state.trace, f)].filter(Boolean).map((line) => make('p', '', line)),
  );
};

const drawRaceAt = (at) => {
  racing.at = Math.min(Math.max(0, at), raceEnd());
  const most = Math.max(...raceLanes.map((lane) => lane.total));
  raceLanes.forEach((lane) => drawRaceLane(lane, racing.at, most));
  part('race').querySelector('.sv-race-clock').textContent = `${(racing.at / 1000).toFixed(2)} s`;
  const over = racing.at >= raceEnd();
  part('race').querySelector('.sv-race-why').toggleAttribute('data-over', over);
  const why = part('race').querySelector('.sv-race-why');
  if (over && !why.firstChild) drawRaceVerdict(why);
  if (!over) why.replaceChildren();
};

// --- its clock

const raceRuns = () => racing.timer !== null;

const stopRace = () => {
  cancelAnimationFrame(racing.timer);
  racing.timer = null;
  drawRaceButtons();
};

const raceFrame = (now) => {
  const elapsed = now - racing.last;
  racing.last = now;
  drawRaceAt(racing.at + elapsed / racing.slow);
  if (racing.at >= raceEnd() || !part('race').open) stopRace();
  else racing.timer = requestAnimationFrame(raceFrame);
};

const startRace = () => {
  if (racing.at >= raceEnd()) drawRaceAt(0);
  racing.last = performance.now();
  racing.timer = requestAnimationFrame(raceFrame);
  drawRaceButtons();
};

// One event of either lane on or back.
const stepRace = (direction) => {
  stopRace();
  const times = [0, ...raceLanes.flatMap((lane) => lane.events.map((event) => event.at))].sort((a, b) => a - b);
  const next = direction > 0 ? times.find((at) => at > racing.at) : times.findLast((at) => at < racing.at);
  drawRaceAt(next ?? racing.at);
};

const SLOWNESS = { 1: 'true speed', 4: 'slow × 4', 10: 'slow × 10' };

const raceButton = (text, act, title) => {
  const node = make('button', '', text);
  node.type = 'button';
  node.dataset.race = act;
  if (title) node.title = title;
  return node;
};

const drawRaceButtons = () => {
  const place = part('race').querySelector('.sv-race-buttons');
  const play = place.querySelector('[data-race="play"]');
  if (play) play.textContent = raceRuns() ? 'Pause' : 'Play';
  place
    .querySelectorAll('[data-slow]')
    .forEach((node) => node.setAttribute('aria-pressed', String(Number(node.dataset.slow) === racing.slow)));
};

const raceButtons = () => {
  const speeds = make('div', 'sv-race-speeds',
    ...Object.entries(SLOWNESS).map(([slow, text]) => {
      const node = raceButton(text, 'slow');
      node.dataset.slow = slow;
      return node;
    }),
  );
  speeds.setAttribute('role', 'group');
  speeds.setAttribute('aria-label', 'speed');
  const moving = wantsStillness() ? [] : [raceButton('Play', 'play', 'play and stop (Space)'), speeds];
  return make('div', 'sv-race-buttons',
    ...moving,
    raceButton('◀', 'back', 'a token or a step back (←)'),
    raceButton('▶', 'forward', 'a token or a step on (→)'),
    raceButton('To the finish', 'end', 'to the finish (End)'),
    raceButton('Close', 'close', 'close (Esc)'),
  );
};

const RACE_ACTS = {
  play: () => (raceRuns() ? stopRace() : startRace()),
  slow: (node) => { racing.slow = Number(node.dataset.slow); drawRaceButtons(); },
  back: () => stepRace(-1),
  forward: () => stepRace(1),
  end: () => { stopRace(); drawRaceAt(raceEnd()); },
  close: () => part('race').close(),
};

const RACE_KEYS = { ' ': 'play', ArrowLeft: 'back', ArrowRight: 'forward', End: 'end' };

export const openRace = () => {
  if (!hasRace() || isPredicting()) return;
  stopPlaying();
  raceLanes = laneData();
  const where = make('p', 'sv-race-note',
    `The same settings, on ${state.trace.machine || 'this machine'}, run ${roundsWords(state.trace)}, because they share it. `,
    'Replayed on one clock with each pass’s median time.',
  );
  part('race').replaceChildren(
    make('header', 'sv-race-head', make('h2', '', 'Race'), where, make('b', 'sv-race-clock')),
    raceLane('plain'),
    raceLane('speculative'),
    make('div', 'sv-race-why'),
    raceButtons(),
  );
  part('race').querySelector('.sv-race-why').setAttribute('role', 'status');
  racing.timer = null;
  if (!part('race').open) part('race').showModal();
  if (wantsStillness()) drawRaceAt(raceEnd());
  else {
    drawRaceAt(0);
    startRace();
  }
};

// A race that was asked for here opens when both loops have run.
/** @type {(message: Message) => void} */
export const openRaceOnce = (message) => {
  if (!message.race || branching.busy !== 'a race') return;
  if (isPredicting()) remind('The race tells how the run ends: watch it under the speed line when you stop predicting.');
  else openRace();
};

export const listenToRace = () => {
  part('race').addEventListener('click', (event) => {
    const node = event.target.closest('[data-race]');
    if (node) RACE_ACTS[node.dataset.race](node);
  });
  part('race').addEventListener('keydown', (event) => {
    const act = RACE_KEYS[event.key];
    if (!act || (event.key === ' ' && (event.target.closest('button') || wantsStillness()))) return;
    event.preventDefault();
    RACE_ACTS[act]();
  });
  part('race').addEventListener('close', stopRace);
};
