// Play, pause, speeds, where the player stands, and what it says aloud.

const BEAT_WORDS = {
  start: () => 'the start',
  draft: ({ position }) => `draft ${position}`,
  verify: () => 'the target pass',
  threshold: ({ position }) => `threshold ${position}`,
  coin: ({ position }) => `coin ${position}`,
  owed: () => 'what is owed',
  draw: () => 'the draw',
};

const beatWords = (beat) => BEAT_WORDS[beat.kind](beat);

const verdictWords = (cell) => {
  const [coin, bound] = apart(cell.coin, Math.min(1, cell.ratio));
  return `The ${coinName(cell)} said ${coin}, ${cell.state === 'accepted' ? 'below' : 'not below'} ${bound}: ${cell.state === 'accepted' ? 'kept' : 'rejected'}.`;
};

const drawWords = (name, cell) => {
  if (cell.alone) return `The target draws ${name}; nothing was drafted.`;
  return cell.state === 'bonus' ? `Every draft was kept. The target adds ${name}.` : `${name} takes the rejected token's place.`;
};

// A beat in a sentence, for the live region.
const sayBeat = (trace, step, beat) => {
  const cell = cellOfBeat(step, beat);
  const name = cell ? nameOf(trace.tokens, cell.id) : '';
  const says = {
    start: () => `Step ${step.step}.`,
    draft: () => `The draft proposes ${name}, q ${number(cell.q)}.`,
    verify: () => `One target pass gives ${count(step.k + 1, 'row', 'rows')} of p.`,
    threshold: () => `${name} ${survives(cell)}.`,
    coin: () => `${name}. ${verdictWords(cell)}`,
    owed: () => `What the target is still owed, ${number(cell.mass)}, decides what takes its place.`,
    draw: () => drawWords(name, cell),
  };
  return says[beat.kind]();
};

const drawWhere = (place, trace, beat) => {
  const steps = trace.steps.length;
  place.replaceChildren('step ', make('b', '', String(beat.step)), `${isPredicting() ? '' : ` of ${steps}`}${state.live ? ' …' : ''} · `, make('b', '', beatWords(beat)));
};

const drawTransport = (place) => {
  const play = place.querySelector('[data-do="play"]');
  play.querySelector('span').textContent = state.playing ? 'Pause' : 'Play';
  play.dataset.playing = state.playing;
  place.querySelectorAll('[data-speed]').forEach((node) => node.setAttribute('aria-pressed', node.dataset.speed === state.speed));
};

const DOES = {
  first: () => moveTo(0),
  back: () => moveBy(-1),
  play: () => togglePlay(),
  forward: () => moveBy(1),
  rejection: () => moveToNext('rejected'),
  bonus: () => moveToNext('bonus'),
  captions: () => endCaptions(),
  branch: () => runBranch(),
  putBack: () => putBack(),
  original: () => showRun('original'),
  fork: () => showRun('branch'),
  race: () => openRace(),
  help: () => part('help').showModal(),
  share: () => openShare(),
  predict: () => setPredicting(!predicting.on),
  best: () => moveToStep(bestStep(state.trace)),
  replay: () => replay(),
  closecard: () => closeEndCard(),
  present: () => setPresenting(!isPresenting()),
  menu: () => toggleFold('menu'),
};

let timer = null;

const pauseHere = () => (captionNow()?.beat === currentBeat().name ? READING : PAUSES[state.speed]);

const wind = () => {
  clearTimeout(timer);
  timer = state.playing ? setTimeout(() => { playOn(); wind(); }, pauseHere()) : null;
};
