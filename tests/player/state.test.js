import assert from 'node:assert/strict';
import test from 'node:test';

// What a browser has and these modules look at, in as few words as they need.
const dataset = {};
globalThis.element = { querySelector: () => ({ dataset }) };
const NUMBERS = ['k', 'temperature', 'top_k', 'top_p', 'max_new_tokens', 'seed'];
const CONTROLS = ['prompt', 'pair', 'draft', ...NUMBERS, 'chat', 'agreement'].map((name) => ({
  name,
  words: name,
  title: name,
  is_number: NUMBERS.includes(name),
  more: !['prompt', 'k', 'temperature'].includes(name),
}));
const CHAT = { null: 'as the model expects', true: 'chat template', false: 'raw text' };
globalThis.props = { facts: JSON.stringify({ controls: CONTROLS, chat: CHAT, checkpoints: [1, 2, 3] }) };
globalThis.window = { location: { search: '', origin: 'https://there', pathname: '/page' } };

const { on, tell } = await import('../../assets/player/state/changes.js');
const { changedControls } = await import('../../assets/player/state/controls.js');
const { facts, readFacts } = await import('../../assets/player/state/facts.js');
const links = await import('../../assets/player/state/link.js');
const moves = await import('../../assets/player/state/moves.js');
const reveal = await import('../../assets/player/state/reveal.js');
const { currentBeat, state } = await import('../../assets/player/state/state.js');
const { traceOf } = await import('./traces.js');

readFacts();

const RUN = traceOf(['AR', 'residual'], ['AA', 'bonus'], ['RD', 'residual']);

// What the server says of a run's controls.
const askedFor = ({ settings, prompt }) => ({
  ...Object.fromEntries(CONTROLS.map(({ name }) => [name, settings[name]])),
  prompt: prompt.text,
  draft: settings.draft.kind,
  chat: CHAT[settings.chat],
  agreement: 0.9,
});

const open = (query, trace = RUN, more = {}) => {
  window.location.search = query;
  delete dataset.query;
  Object.assign(state, { trace: null, speed: 'normal' });
  links.readLink();
  moves.takeMessage({ live: false, trace, asked: askedFor(trace), ...more });
};

const said = () => Object.fromEntries(new URLSearchParams(links.linkOf()));

test('what has changed is told to whoever listens, at once; of what is on no list nothing is told', () => {
  const heard = [];
  on('size', () => heard.push('size'));
  tell('size');
  assert.deepEqual(heard, ['size']);
  assert.throws(() => tell('weather'), /nothing is told of "weather"/);
  assert.throws(() => on('weather', () => {}), /nothing is told of "weather"/);
});

test('a link says the settings and the beat of the run on screen, and keeps what it does not know', () => {
  open('?task=look&k=9&lock=k', RUN, { fingerprint: 'abcdefgh.a' });
  moves.moveTo(3);
  assert.deepEqual(said(), {
    task: 'look', lock: 'k', prompt: '1 15', pair: 'toy', draft: 'model', k: '3', temperature: '1', top_k: '0', top_p: '1',
    max_new_tokens: '40', seed: '7', chat: 'raw text', agreement: '0.9', beat: '1.verify', fp: 'abcdefgh.a',
  });
  assert.equal(links.fullLink('?a=1'), 'https://there/page?a=1');
});

test('of a recorded run a link says its name alone; of a branch its numbers and no fingerprint', () => {
  open('?k=9&prompt=x', RUN, { recorded: { name: 'opening' }, fingerprint: 'abcdefgh.a' });
  assert.deepEqual(said(), { recorded: 'opening', beat: '1.start' });
  const branch = { ...RUN, settings: { ...RUN.settings, overrides: [[2, 1, 'accept', 0.25], [3, 1, 'final', 0.5]] } };
  open('', branch, { fingerprint: 'abcdefgh.a' });
  assert.equal(said().branch, '2.1.accept.0.25,3.1.final.0.5');
  assert.equal(said().fp, undefined);
});

test('a link opens at its beat once, where the run is the link’s', () => {
  open('?k=3&seed=7&beat=2.coin.1');
  assert.equal(links.isLinked(), true);
  assert.equal(state.clock.beats[links.linkedBeat()].name, '2.coin.1');
  assert.equal(links.linkedBeat(), null);
  open('?k=4&beat=2.coin.1');
  assert.equal(links.isLinked(), false);
  assert.equal(links.linkedBeat(), null);
  open('?recorded=opening', RUN, { recorded: { name: 'opening' } });
  assert.equal(links.isLinked(), true);
});

test('a beat that the run lacks is the start, and that is noted', () => {
  open('?beat=9.start');
  assert.equal(links.linkedBeat(), 0);
  assert.equal(links.address.beatUnknown, true);
  open('?beat=2.coin.9');
  assert.equal(state.clock.beats[links.linkedBeat()].name, '2.draw');
  assert.equal(links.address.beatUnknown, false);
});

test('speed, predicting and a file’s own query are read; an unknown speed is not', () => {
  open('?speed=slow&predict=1');
  assert.deepEqual([state.speed, reveal.predicting.on], ['slow', true]);
  open('?speed=toString');
  assert.deepEqual([state.speed, reveal.predicting.on], ['normal', false]);
  dataset.query = 'speed=step';
  links.readLink();
  assert.equal(state.speed, 'step');
});

test('text of a link is one line and no longer than it may be; names are those that there are', () => {
  open(`?task=${encodeURIComponent(`  a\nb\u202ec ${'x'.repeat(300)}`)}&lock=k,seed,what`);
  assert.equal(links.linkedTask().slice(0, 8), 'a b c xx');
  assert.equal(links.linkedTask().length, 200);
  assert.equal(links.cutText('猫猫猫', 2), '猫猫');
  assert.deepEqual(links.linkedNames('lock', ['k', 'seed']), ['k', 'seed']);
  assert.deepEqual(links.linkedNames('hide', ['k']), []);
});

test('controls that differ from the run on screen', () => {
  open('');
  const values = { ...askedFor(RUN) };
  const now = (change) => {
    globalThis.props = { controls: JSON.stringify(Object.values({ ...values, ...change })) };
    return changedControls();
  };
  assert.deepEqual(now({}), []);
  const control = (name) => facts.controls.find((each) => each.name === name);
  const both = [{ control: control('prompt'), now: 'x', was: '1 15' }, { control: control('k'), now: '4', was: 3 }];
  assert.deepEqual(now({ k: '4', prompt: 'x' }), both);
  assert.deepEqual(now({ k: '3', chat: 'as the model expects' }), []);
  assert.deepEqual(now({ pair: 'smollm2-135m', agreement: 0.1 }).map((each) => each.control.name), ['pair']);
});

test('a move tells of the beat; a move while playing ends the play first', () => {
  open('');
  const told = [];
  ['beat', 'playing', 'choice'].forEach((change) => on(change, () => told.push(change)));
  moves.moveTo(2);
  assert.deepEqual([told.splice(0), currentBeat().name], [['beat'], '1.draft.2']);
  moves.togglePlay();
  moves.moveBy(1);
  assert.deepEqual([told.splice(0), state.playing], [['playing', 'playing', 'beat'], false]);
  moves.choose({ step: 1, position: 1, state: 'accepted', id: 1 });
  assert.deepEqual([told, state.chosen], [['choice'], { step: 1, position: 1, state: 'accepted' }]);
  moves.moveTo(99);
  assert.deepEqual([currentBeat().name, state.chosen], ['3.draw', null]);
});

test('steps of a live run join those before, and the newest beat is followed', () => {
  const [first, ...later] = RUN.steps;
  open('', { ...RUN, steps: [first] }, { live: true });
  assert.equal(currentBeat().name, '1.draw');
  moves.takeMessage({ live: true, trace: { ...RUN, steps: later.slice(0, 1), tokens: { 8: 'z' } } });
  assert.deepEqual([state.trace.steps.length, currentBeat().name, state.trace.tokens[1], state.trace.tokens[8]], [2, '2.draw', 'a', 'z']);
});

test('while predicting nobody gets past the next question, and a skip counts as nothing', () => {
  open('?predict=1');
  reveal.predicting.games.clear();
  moves.moveTo(99);
  assert.equal(currentBeat().name, '1.threshold.1');
  assert.deepEqual(reveal.questionNow(), { step: 1, position: 1, way: 'verdict', key: '1.1', open: true });
  reveal.game().calls.set('1.1', 'accept');
  assert.equal(reveal.score().all, 0); // its coin has not fallen
  moves.goToCoin();
  assert.equal(currentBeat().name, '1.coin.1');
  assert.deepEqual(reveal.score(), { all: 1, right: 1, likelier: 1, kept: 1 });
  moves.moveTo(99);
  moves.goToCoin();
  assert.deepEqual([currentBeat().name, reveal.score().all], ['1.coin.2', 1]);
  assert.deepEqual(reveal.callsOf('r1'), [[1, 1, 'accept']]);
  open('');
});
