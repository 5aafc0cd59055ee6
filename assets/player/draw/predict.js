// The panel of "predict first": the question at a threshold, what came of the answer, the score.

import { cellsOf, chanceOf, isGreedy, survives } from '../run/cells.js';
import { apart, number } from '../run/numbers.js';
import { ANSWERS, CALL_WORDS, callOf, distanceWords, guessWords, keyOfBeat, scoreWords } from '../run/score.js';
import { part, root } from '../state/host.js';
import { isPhone } from '../state/modes.js';
import { canThrow, draftAt, game, guesses, isAnswered, isKeyTold, nextQuestion, predicting } from '../state/reveal.js';
import { questionNow, score, verdictAt, wayOfCalls } from '../state/reveal.js';
import { currentBeat, hasBeats, state } from '../state/state.js';
import { make, pressable, tokenNode } from './dom.js';
import { isCardShown } from './endcard.js';

// --- the question -----------------------------------------------------------------------------------------------------------

const askedCell = (asked) => cellsOf(state.clock.steps[asked.step])[asked.position - 1];

// As text, for those who hear it, and as nodes, with the token as a token.
const questionParts = (asked) => {
  const cell = askedCell(asked);
  const name = tokenNode(state.trace.tokens, cell.id);
  if (asked.way === 'same') return ['The draft proposes ', name, '. Is it the target’s first choice too?'];
  if (asked.way === 'chance') return ['p ', number(cell.p), ', q ', number(cell.q), ': how likely is it that ', name, ' survives?'];
  return [name, ` ${survives(cell)}: kept or rejected?`];
};

const textOfParts = (parts) => parts.map((each) => (typeof each === 'string' ? each : each.textContent)).join('');

const howToAnswer = (asked) =>
  asked.way === 'chance' ? '' : ` ${ANSWERS[asked.way].map(([, word, key]) => `${key}: ${word}`).join(', ')}.`;

const answerButtons = (asked) =>
  ANSWERS[asked.way].map(([call, word, key]) => pressable('sv-answer', 'call', call, word, make('kbd', '', key)));

const guessParts = () => {
  const range = Object.assign(make('input', 'sv-guess'), { type: 'range', min: 0, max: 100, step: 1, value: 50 });
  range.setAttribute('aria-label', 'the chance in per cent');
  const button = pressable('sv-answer', 'guess', '', 'say 50 %');
  const slid = () => {
    button.textContent = `say ${range.value} %`;
    range.setAttribute('aria-valuetext', `${range.value} %`);
  };
  range.addEventListener('input', slid);
  slid();
  return [
    make('label', 'sv-guessing', range, make('span', '', make('i', '', '0 %'), make('i', '', '50 %'), make('i', '', '100 %'))),
    button,
  ];
};

const digitParts = () => {
  const field = Object.assign(make('input', 'sv-digits'), { type: 'text', inputMode: 'numeric', autocomplete: 'off', maxLength: 8 });
  field.setAttribute('aria-label', 'two digits of the class’s coin');
  return [make('label', 'sv-throwing', 'coin 0.', field), pressable('sv-answer', 'throw', '', 'throw')];
};

const answerParts = (asked) => {
  if (!asked) return [];
  if (!asked.open) return predicting.classThrows && canThrow() ? digitParts() : [];
  return asked.way === 'chance' ? guessParts() : answerButtons(asked);
};

// --- what came of it --------------------------------------------------------------------------------------------------------

const coinSaid = (draft, coin, whose) => {
  const [said, bound] = apart(coin, chanceOf(draft));
  const kept = coin * draft.q < draft.p;
  return `${whose} ${said}, ${kept ? 'below' : 'not below'} ${bound}: ${kept ? 'kept' : 'rejected'}`;
};

// After the class's coin the run goes on with its own, which is worth saying where that one decided otherwise.
const wentOnWords = (key) => {
  const { draft } = draftAt(key);
  return verdictAt(key) === callOf(draft) ? '' : `The recorded run went on with ${coinSaid(draft, draft.coin, 'its own coin')}.`;
};

const classWords = (key) => `${coinSaid(draftAt(key).draft, game().coins.get(key), 'Class coin')}. ${wentOnWords(key)}`;

const runWords = (key) => {
  const { draft } = draftAt(key);
  const kept = draft.state === 'accepted';
  if (isGreedy(state.trace))
    return kept ? 'It is the target’s first choice too: kept.' : 'The target’s first choice is another one: rejected.';
  return state.trace.settings.fault ? `It was ${kept ? 'kept' : 'rejected'}.` : `${coinSaid(draft, draft.coin, 'Coin')}.`;
};

const calledWords = (key) => {
  const { calls, guesses: said } = game();
  if (said.has(key)) return guessWords({ guess: said.get(key), chance: chanceOf(draftAt(key).draft) });
  if (!calls.has(key)) return 'Not called: it counts as nothing.';
  const call = calls.get(key);
  return `You said ${CALL_WORDS[wayOfCalls()][call]}${isKeyTold(key) ? `: ${call === verdictAt(key) ? 'right' : 'wrong'}` : ''}.`;
};

const THROW_NOW = 'Now the class throws: type two digits, such as 7 1 for 0.71.';

const TO_THE_COIN = 'On to the coin with → or Space.';

// What was said at a beat, and what the coin made of it.
const toldWords = (beat) => {
  const key = keyOfBeat(beat);
  if (beat.kind === 'threshold') return [calledWords(key), ''];
  return [calledWords(key), game().coins.has(key) ? classWords(key) : runWords(key)];
};

const idleWords = () => {
  if (!state.live && !state.clock.beats.some((beat) => beat.kind === 'threshold'))
    return 'Nothing is drafted in this run: there is nothing to predict.';
  if (nextQuestion() === null) return state.live ? 'The next step is being made.' : 'No more questions in this run.';
  return 'Play, or a beat on: it stops at the next question.';
};

// What the panel says where it does not ask: what stands out, and the rest.
const panelWords = () => {
  const asked = questionNow();
  if (asked) return [calledWords(asked.key), predicting.classThrows && canThrow() ? THROW_NOW : TO_THE_COIN];
  const beat = currentBeat();
  return beat.kind === 'coin' || (beat.kind === 'threshold' && isAnswered(keyOfBeat(beat))) ? toldWords(beat) : ['', idleWords()];
};

const scoreLine = () =>
  predicting.way === 'chance' && wayOfCalls() === 'verdict' ? distanceWords(guesses()) : scoreWords(score(), wayOfCalls() === 'same');

// What "predict first" adds to what a beat says aloud.
/** @type {() => string} */
export const sayPrediction = () => {
  if (!predicting.on) return '';
  const asked = questionNow();
  if (asked?.open) return `${textOfParts(questionParts(asked))}${howToAnswer(asked)} ${predicting.notice}`;
  if (asked) return `${panelWords().join(' ')} ${predicting.notice}`;
  const beat = currentBeat();
  const told = beat.kind === 'coin' ? `${calledWords(keyOfBeat(beat))} ${wentOnWords(keyOfBeat(beat))} ${scoreLine()}` : '';
  return `${told} ${predicting.notice}`;
};

// --- drawing ----------------------------------------------------------------------------------------------------------------

const switches = () => {
  if (wayOfCalls() === 'same') return make('div', 'sv-ways', make('small', '', 'Temperature 0: no coin is needed.'));
  const way = (name, words) => {
    const node = pressable('', 'way', name, words);
    node.setAttribute('aria-pressed', predicting.way === name);
    return node;
  };
  const asks = make('div', 'sv-switch', way('verdict', 'verdict'), way('chance', 'chance'));
  asks.setAttribute('role', 'group');
  asks.setAttribute('aria-label', 'what is asked');
  const throws = pressable('sv-own', 'classcoin', '', 'class coin');
  throws.setAttribute('aria-pressed', predicting.classThrows);
  throws.title = 'after each answer the class throws the coin: two digits, for this position only';
  return make('div', 'sv-ways', asks, canThrow() ? throws : null);
};

const panelKey = () =>
  JSON.stringify([
    state.trace.run_id,
    currentBeat().name,
    questionNow(),
    predicting.way,
    predicting.classThrows,
    predicting.notice,
    panelWords(),
    scoreLine(),
  ]);

const drawPanel = (place) => {
  const asked = questionNow();
  const [loud, quiet] = panelWords();
  const text = asked?.open ? questionParts(asked) : [make('b', '', loud), ` ${quiet}`];
  const answers = answerParts(asked);
  const below = predicting.notice ? make('p', 'sv-notice', predicting.notice) : make('p', 'sv-score', scoreLine());
  place.replaceChildren(
    make('div', 'sv-asks', make('p', asked?.open ? 'sv-question' : 'sv-answered', ...text), below),
    make('div', 'sv-answers', ...answers),
    switches(),
  );
};

const setField = (field, value) => {
  field.value = value;
  field.dispatchEvent(new Event('input'));
};

// Made anew only when it says something else, so that a live run's messages leave what is being typed alone.
export const drawPredict = () => {
  const place = part('predict');
  const shows = predicting.on && hasBeats() && !isCardShown(); // the card at the end has the score
  place.hidden = !shows;
  place.style.setProperty('--foot', `${isPhone() ? part('transport').offsetHeight : 0}px`);
  root().querySelectorAll('[data-do="predict"]').forEach((node) => node.setAttribute('aria-pressed', predicting.on));
  if (!shows) return;
  const asked = questionNow();
  const cell = asked && part('open').querySelector(`.sv-cell[data-position="${asked.position}"]:not([data-final])`);
  cell?.classList.add('sv-asked');
  if (place.dataset.key === panelKey()) return;
  const typed = place.querySelector('input')?.value;
  const stays = place.dataset.about === asked?.key;
  const held = place.contains(document.activeElement);
  drawPanel(place);
  Object.assign(place.dataset, { key: panelKey(), about: asked?.key ?? '' });
  const field = place.querySelector('input');
  if (field && stays && typed !== undefined && field.type === place.dataset.field) setField(field, typed);
  place.dataset.field = field?.type ?? '';
  if (isPhone()) cell?.scrollIntoView({ block: 'nearest' });
  if (field?.type === 'text') field.focus({ preventScroll: true });
  else if (held) place.focus({ preventScroll: true });
};
