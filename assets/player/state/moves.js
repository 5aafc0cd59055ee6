// What the player shows and where it stands. The functions here change it and say so; drawing is elsewhere.

const state = {
  trace: null, // the run on screen
  figures: null,
  live: false, // steps are still arriving
  recorded: null, // the gallery's name of the run, and what to look for in it
  fingerprint: null, // a hash of what came out, see fingerprint.py
  gallery: null, // the recorded runs' names, titles and fingerprints
  clock: null,
  at: 0, // index of a beat
  speed: 'normal',
  playing: false,
  following: false, // a live run: stand at its newest beat until somebody goes elsewhere
  captions: false, // the opening lesson tells its story until somebody ends it
  chosen: null, // a cell that somebody chose; it stands until the next beat
};

const currentBeat = () => state.clock.beats[state.at];

// A step as it is shown at the present beat, where the class may have thrown a coin of its own.
const stepOf = (number) => (number === currentBeat().step ? stepShown(state.clock.steps[number], currentBeat()) : state.clock.steps[number]);

const currentStep = () => stepOf(currentBeat().step);

const currentView = () => viewOf(currentStep(), currentBeat());

const hasBeats = () => state.clock !== null && state.clock.beats.length > 0;

const lastBeat = () => state.clock.beats.length - 1;

const atEnd = () => state.at >= lastBeat();

// The cell that the inspector is about: the chosen one, or the one of the present beat.
const shownCell = () => state.chosen ?? cellOfBeat(currentStep(), currentBeat());

// A live message holds only the latest steps; they join those that came before.
const merge = (message) => {
  const before = state.trace;
  if (!message.live || !before || before.run_id !== message.trace.run_id) return message.trace;
  const known = new Map([...before.steps, ...message.trace.steps].map((step) => [step.step, step]));
  const steps = [...known.values()].sort((a, b) => a.step - b.step);
  return { ...message.trace, steps, tokens: { ...before.tokens, ...message.trace.tokens } };
};

const takeMessage = (message) => {
  const sameRun = state.trace !== null && state.trace.run_id === message.trace.run_id;
  const name = sameRun && hasBeats() ? currentBeat().name : null;
  state.trace = merge(message);
  state.figures = message.figures ?? null;
  state.live = message.live;
  state.recorded = message.recorded ?? null;
  state.fingerprint = message.fingerprint ?? null;
  state.gallery = message.gallery ?? null;
  state.clock = clockOf(state.trace);
  if (!sameRun) Object.assign(state, { at: 0, playing: false, following: (message.live || message.made) && !predicting.on, captions: message.recorded?.first ?? false, chosen: null });
  if (state.following) state.at = Math.max(0, lastBeat());
  else if (name !== null) state.at = indexOfBeat(state.clock, name) ?? 0;
  if (!message.live) state.following = false;
  return sameRun;
};

const goTo = (index) => {
  if (!hasBeats()) return;
  const at = Math.max(0, Math.min(index, reach(lastBeat())));
  Object.assign(state, { at, chosen: null, following: state.live && !predicting.on && at === lastBeat() });
  noteReached(at);
  beatChanged();
};

const stopPlaying = () => {
  if (!state.playing) return;
  state.playing = false;
  playingChanged();
};

// A visitor's move ends the play; the play's own moves do not come this way.
const moveTo = (index) => {
  if (index === null) return;
  stopPlaying();
  predicting.notice = index > reach(index) && isAsking() ? NO_FARTHER : '';
  goTo(index);
};

// A beat on from a question goes to its coin, answered or not.
const moveBy = (direction, speed = state.speed) => {
  if (!hasBeats()) return;
  if (direction > 0 && speed === state.speed && questionNow()) tell();
  else moveTo(nextStop(state.clock, state.at, speed, direction));
};

const moveToStep = (number) => moveTo(state.clock.ends[number] ?? null);

const moveToNext = (cellState) => {
  if (!hasBeats()) return;
  if (isPredicting()) remind(NO_JUMP);
  else moveTo(nextOfState(state.clock, state.at, cellState));
};

const moveToCell = (cell) => {
  moveToStep(cell.step);
  choose(cell);
};

const choose = (cell) => {
  state.chosen = { step: cell.step, position: cell.position, state: cell.state };
  choiceChanged();
};

const setSpeed = (speed) => {
  state.speed = speed;
  playingChanged();
};

const togglePlay = () => {
  if (!hasBeats()) return;
  if (!state.playing && isAsking()) {
    remind(CALL_FIRST);
    return;
  }
  state.playing = !state.playing;
  if (state.playing && atEnd() && !state.live) goTo(0);
  playingChanged();
};

const LAST_TOLD_STEP = 2; // the story is over after the second step

// The caption that stands at the present beat: the latest one of its step or before, as long as the story lasts.
const captionNow = () => {
  if (!state.captions || predicting.on || !hasBeats() || currentBeat().step > LAST_TOLD_STEP) return null;
  return CAPTIONS.filter((caption) => indexOfBeat(state.clock, caption.beat) <= state.at).at(-1) ?? null;
};

const endCaptions = () => {
  state.captions = false;
  captionsChanged();
};

// What the timer does: one beat on, and the end of the play at the end of the run.
const playOn = () => {
  const next = nextStop(state.clock, state.at, state.speed, 1);
  if (next !== state.at) goTo(next);
  if ((atEnd() && !state.live) || isAsking() || (isPresenting() && atStepEnd())) stopPlaying();
};
