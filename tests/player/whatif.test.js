import assert from 'node:assert/strict';
import test from 'node:test';

import { FINGERPRINT, partingWords } from '../../assets/player/run/fingerprint.js';
import * as race from '../../assets/player/run/race.js';
import * as whatif from '../../assets/player/run/whatif.js';
import { traceOf } from './traces.js';

test('a moved number stays below one', () => {
  assert.deepEqual([-0.5, 0.25, 1, 2].map(whatif.heldIn), [0, 0.25, 1 - 2 ** -53, 1 - 2 ** -53]);
});

test('another coin keeps or rejects, strictly below p/q', () => {
  const kept = { p: 0.3, q: 0.6, state: 'accepted' };
  assert.deepEqual(whatif.coinOutcome(kept, 0.49), { same: true, verdict: 'same verdict', rest: ': nothing changes' });
  const rejected = { same: false, verdict: 'would be rejected', rest: '; everything after this changes' };
  assert.deepEqual(whatif.coinOutcome(kept, 0.5), rejected);
  assert.equal(whatif.coinOutcome({ ...kept, state: 'rejected' }, 0.1).verdict, 'would be kept');
});

test('the token that another number would draw: the one drawn now is asked first', () => {
  const draft = { id: 5, low: 0.25, high: 0.5 };
  const row = { ids: [5, 6, 7], q: [0.25, 0.25, 0], q_low: [0.25, 0, 0.9] };
  const pieces = whatif.piecesOfDraft(row, draft);
  assert.deepEqual(pieces, [{ id: 6, low: 0, high: 0.25 }, { id: 5, low: 0.25, high: 0.5 }]);
  assert.deepEqual([0, 0.25, 0.49, 0.5].map((u) => whatif.drawnAt(pieces, 5, u)), [6, 5, 5, null]);
  assert.deepEqual(whatif.piecesOfDraft(null, draft), [draft]);
  const overlapping = [{ id: 6, low: 0, high: 0.3 }, { id: 5, low: 0.25, high: 0.5 }];
  assert.equal(whatif.drawnAt(overlapping, 5, 0.27), 5);
});

test('two runs part where their fingerprints do', () => {
  const CHECKPOINTS = [...Array.from({ length: 32 }, (_, i) => i + 1), 36, 40, 48];
  const print = (marks) => `abcdefgh.${marks}`;
  assert.equal(partingWords(print('abc'), print('abc'), CHECKPOINTS), null);
  assert.equal(partingWords(print('abc'), print('xbc'), CHECKPOINTS), 'from step 1 on');
  assert.equal(partingWords(print('abc'), print('abx'), CHECKPOINTS), 'from step 3 on');
  const long = 'a'.repeat(32);
  assert.equal(partingWords(print(`${long}b`), print(`${long}c`), CHECKPOINTS), 'from a step between 33 and 36 on');
  assert.equal(partingWords(print('ab'), print('abc'), CHECKPOINTS), 'from step 3 on');
  assert.equal(partingWords('abcdefgh.ab', 'xbcdefgh.ab', CHECKPOINTS), 'in its last steps');
  assert.deepEqual(['abcdefgh.ab', 'abcdefgh.', 'abc.ab', 'abcdefgh.<', ''].map((text) => FINGERPRINT.test(text)), [
    true, true, false, false, false,
  ]);
});

test('a race: when which tokens were there, who won, and why', () => {
  const trace = { ...traceOf(['AA', 'bonus'], ['AA', 'bonus'], ['AA', 'bonus']), baseline: { token_ids: [1, 2, 3, 4, 5, 6, 7, 8, 9] } };
  const ms = [10, 20, 30, 40, 50, 60, 70, 80, 90];
  const events = race.speculativeEvents(trace);
  assert.deepEqual(events.map((event) => [event.at, event.cells.length]), [[15, 3], [30, 3], [45, 3]]);
  assert.deepEqual([race.endOf(events), race.tokensIn(events), race.endOf([])], [45, 9, 0]);
  const measured = { speedup_measured: 2, speedup_measured_low: 1.9, speedup_measured_high: 2.1, speedup_measured_doubt: null };
  const figures = race.raceFigures(trace, { acceptance_examined: 1, tokens_per_pass: 3, ...measured }, ms);
  assert.deepEqual(figures, {
    plainToken: 10, token: 5, speedup: { value: 2, low: 1.9, high: 2.1, doubt: null }, isShort: false, acceptance: 1, perPass: 3,
    step: 15, draft: 4, verify: 10, affordable: 30,
  });
  assert.equal(race.verdictOfRace(figures), 'Speculation wins: 5 ms a token against 10 ms, 2.00 times as fast (1.90 to 2.10).');
  const of = (value, low, high, doubt = null) => race.verdictOfRace({ ...figures, speedup: { value, low, high, doubt } });
  assert.equal(race.verdictOfRace({ ...figures, token: 12.5, speedup: { value: 0.8, low: 0.8, high: 0.8, doubt: null } }),
    'Speculation loses: 13 ms a token against 10 ms, it takes 25 % longer: 0.80 times as fast.');
  assert.equal(of(1.04, 0.98, 1.1), 'A draw: 5 ms a token against 10 ms, 1.04 times as fast (0.98 to 1.10).');
  assert.match(of(1.006, 1.001, 1.01), /^Speculation wins/);
  assert.match(of(0.994, 0.99, 0.999), /^Speculation loses/);
  assert.equal(of(21, 20, 22, 'busy'), 'No verdict (5 ms a token against 10 ms): busy.');
  assert.equal(race.verdictOfRace({ ...figures, isShort: true }), 'Too few tokens to call it: 5 ms a token against 10 ms.');
  assert.deepEqual(race.reasonsOfRace(trace, figures), [
    '1.00 of the drafts looked at were kept, so a target pass gave 3.00 tokens.',
    "A step took 15 ms: drafting 4 ms, verification 10 ms against 10 ms for the plain loop's one row.",
    'For 3.00 tokens a step may take 30 ms before speculation loses.',
    'The toy has no models: these are the milliseconds of the program around them.',
  ]);
  assert.equal(race.reasonsOfRace(trace, { ...figures, speedup: { ...figures.speedup, doubt: 'busy' } }).length, 3);
  const other = { ...trace, token_ids: [1, 2, 9], baseline: { token_ids: [1, 3, 9] } };
  assert.match(race.whyTwoTexts(other), /^Two texts of one law/);
  assert.match(race.whyTwoTexts({ ...other, settings: { ...trace.settings, temperature: 0 } }), /near-tie/);
  assert.equal(race.whyTwoTexts({ ...other, token_ids: [1, 3] }), null);
  assert.equal(race.reasonsOfRace(trace, { ...figures, acceptance: null })[0], 'Nothing was drafted, so a target pass gave 3.00 tokens.');
});
