// Predict first: every coin is asked about before it falls, and nothing on the page tells what has not been revealed.
//
// How far a run has been revealed is one number, `reached`, a beat's index. Whoever moves past it, by whatever key, link or click, gets
// no farther than the next threshold that has not been answered; a single beat on from there is a skip, which counts as nothing.

const predicting = {
  on: false,
  way: 'verdict', // what is asked: the verdict, or the chance of being kept
  classThrows: false, // whether a call is followed by the class's coin instead of the run's
  notice: '', // why the last key or click did less than it says
  games: new Map(), // a run's id to what was called in it
};

const callsIn = (runId) => {
  if (!predicting.games.has(runId)) predicting.games.set(runId, { calls: new Map(), guesses: new Map(), coins: new Map(), reached: 0 });
  return predicting.games.get(runId);
};

const game = () => callsIn(state.trace.run_id);

// Whether anything is still to be kept back: predicting is on, and the run has not been played to its end.
const isPredicting = () => predicting.on && (!hasBeats() || state.live || game().reached < lastBeat());

// What was called in a run: [step, position, "accept" or "reject"] each.
const callsOf = (runId) => [...(predicting.games.get(runId)?.calls ?? [])].map(([key, call]) => [...key.split('.').map(Number), call]);

// --- how far one may go ---------------------------------------------------------------------------------------------------

const keyOfBeat = (beat) => keyOf(beat.step, beat.position);

const isAnswered = (key) => game().calls.has(key) || game().guesses.has(key);

const nextQuestion = () => {
  const at = state.clock.beats.findIndex((beat, i) => beat.kind === 'threshold' && i >= game().reached && !isAnswered(keyOfBeat(beat)));
  return at < 0 ? null : at;
};

const reach = (index) => (isPredicting() ? Math.min(index, nextQuestion() ?? lastBeat()) : index);

const noteReached = (at) => { if (predicting.on) game().reached = Math.max(game().reached, at); };

const isTold = (cell) => beatOfCell(state.clock, cell) <= game().reached;

// The question at the present beat: its coin is still to come. `open` until it is answered.
const questionNow = () => {
  if (!predicting.on || !hasBeats() || currentBeat().kind !== 'threshold' || state.at < game().reached) return null;
  const { step, position } = currentBeat();
  const way = isGreedy(state.trace) ? 'same' : predicting.way;
  return { step, position, way, key: keyOf(step, position), open: !isAnswered(keyOf(step, position)) };
};

const isAsking = () => questionNow()?.open ?? false;

const CALL_FIRST = 'Answer first, or skip this one with →.';
const NO_JUMP = 'Off while predicting: it would tell what comes next.';
const NO_FARTHER = 'A jump stops at the next question.';

const remind = (words) => {
  predicting.notice = words;
  noticeChanged();
};

// --- what stays hidden ----------------------------------------------------------------------------------------------------

// At temperature 0 p is the answer; a guessed chance must not be drawn before it has been guessed.
const stageShown = (step, view, cell) => {
  const stage = stageOf(step, view, cell.position);
  if (!isPredicting() || isTold(cell)) return stage;
  if (isGreedy(state.trace)) return stage === 'empty' ? stage : 'drafted';
  return stage === 'threshold' && isChanceOpen() ? 'verified' : stage;
};

const isChanceOpen = () => isAsking() && questionNow().way === 'chance';

// The same for the inspector: how far a cell's story may be told there.
const kindShown = (cell, kind) => {
  if (!isPredicting() || isFinal(cell) || isTold(cell)) return kind;
  if (isGreedy(state.trace) && kind !== 'start') return 'draft';
  return kind === 'threshold' && isChanceOpen() ? 'verify' : kind;
};

// A draft that will not be looked at has less of its laws on record; before that is told, all show what all have.
const rowShown = (row, cell, act) => {
  if (!row || !isPredicting() || !('coin' in cell) || questionNow()?.key === keyOf(cell.step, cell.position)) return row;
  if (isTold(cell)) return row;
  const kept = row.ids.map((_, i) => i).filter((i) => row.q[i] > 0 || (act !== 'draft' && row.p[i] > 0));
  const pick = (name) => kept.map((i) => row[name][i]);
  return { ids: pick('ids'), p: pick('p'), q: pick('q'), p_rest: row.p_rest, q_rest: row.q_rest, overlap_rest: row.overlap_rest, short: true };
};

// --- the class's coin -----------------------------------------------------------------------------------------------------

const canThrow = () => !isGreedy(state.trace) && !state.trace.settings.fault;

// A step as the page shows it at a beat: with the class's coin in it where one was thrown, at that coin's own beat and nowhere else.
const stepShown = (step, beat) => {
  const u = predicting.on && beat.kind === 'coin' ? game().coins.get(keyOfBeat(beat)) : undefined;
  return u === undefined ? step : stepWithCoin(step, beat.position, u, 'class');
};

// --- what one can do ------------------------------------------------------------------------------------------------------

// On to the coin that was asked about.
const tell = () => {
  game().reached = Math.max(game().reached, state.at + 1);
  moveTo(state.at + 1);
};

const answer = (call) => {
  const asked = questionNow();
  if (!asked?.open || asked.way === 'chance') return;
  game().calls.set(asked.key, call);
  predicting.notice = '';
  if (predicting.classThrows && canThrow()) answerChanged();
  else tell();
};

const guess = (percent) => {
  const asked = questionNow();
  if (!asked?.open || asked.way !== 'chance') return;
  game().guesses.set(asked.key, percent);
  predicting.notice = '';
  answerChanged();
};

const throwDigits = (text) => {
  const asked = questionNow();
  const coin = coinOfDigits(text);
  if (coin === null) remind(NO_COIN);
  else if (asked && !asked.open) {
    game().coins.set(asked.key, coin);
    tell();
  }
};

const askFor = (way) => {
  predicting.way = way;
  answerChanged();
};

const setClassThrows = (on) => {
  predicting.classThrows = on;
  answerChanged();
};

// What has been seen is not asked about; from the end one begins again.
const setPredicting = (on) => {
  if (on === predicting.on) return;
  stopPlaying();
  Object.assign(predicting, { on, notice: '' });
  if (on && hasBeats()) {
    state.following = false;
    if (atEnd() && !state.live) state.at = 0;
    game().reached = state.at;
  }
  predictingChanged();
};

// --- the score ------------------------------------------------------------------------------------------------------------

const draftAt = (key) => {
  const [step, position] = key.split('.').map(Number);
  return { step: state.clock.steps[step], position, draft: state.clock.steps[step].drafts[position - 1] };
};

// A call is judged by the coin that the class saw.
const verdictAt = (key) => {
  const { step, position, draft } = draftAt(key);
  return callOf(game().coins.has(key) ? stepWithCoin(step, position, game().coins.get(key)).drafts[position - 1] : draft);
};

const isKeyTold = (key) => {
  const { step, position } = draftAt(key);
  return isTold(cellsOf(step)[position - 1]);
};

const score = () => scoreOf([...game().calls].filter(([key]) => isKeyTold(key))
  .map(([key, call]) => ({ call, verdict: verdictAt(key), chance: chanceOf(draftAt(key).draft) })));

const guesses = () => [...game().guesses].map(([key, percent]) => ({ guess: percent, chance: chanceOf(draftAt(key).draft) }));
