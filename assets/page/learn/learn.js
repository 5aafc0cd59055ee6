// The text of Learn. Words light up what they name; experiments set the page up and run nothing that they do not say.

import { announce, heard, leaveAsk, openTab } from '../../player/state/bridge.js';
import { make } from '../../player/draw/dom.js';

const part = (name) => element.querySelector(`[data-part="${name}"]`);

const SHOWS = {
  cells: '.sv-now .sv-drafts .sv-cell',
  final: '.sv-now .sv-finals > *',
  q: '.sv-now .sv-pq .sv-q',
  p: '.sv-now .sv-pq .sv-p',
  bracket: '.sv-bracket',
  ruler: '.svi-coin, .sv-now .sv-ruler',
  discarded: '.sv-now .sv-discarded',
  balance: '.svi-sums',
  lanes: '.svi-chart',
  bar: '.svi-throw',
  fold: '.sv-fold',
  k: '#k',
  temperature: '#temperature',
};

const isSeen = (node) => node.checkVisibility?.() ?? node.offsetParent !== null;

const lightUp = (name, word) => {
  document.querySelectorAll('.svl-lit').forEach((node) => node.classList.remove('svl-lit'));
  if (!name) return;
  const found = [...document.querySelectorAll(SHOWS[name])].filter(isSeen);
  found.forEach((node) => node.classList.add('svl-lit'));
  word.title = found.length > 0 ? '' : 'not on the page at this beat';
};

// --- drawing ----------------------------------------------------------------------------------------------------------

const buttonOf = (className, text, link) => {
  const node = make('button', className, text);
  node.type = 'button';
  if (link.kind === 'show') node.dataset.show = link.show;
  else node.addEventListener('click', () => act(link));
  return node;
};

const awayNode = (text, { url }) => {
  const node = make('a', 'svl-away', text);
  node.href = url;
  node.target = '_blank';
  node.rel = 'noopener';
  return node;
};

const pieceNode = ({ text, bold, slanted, link }) => {
  if (link?.kind === 'https') return awayNode(text, link);
  if (link) return buttonOf(link.kind === 'show' ? 'svl-word' : 'svl-link', text, link);
  if (bold) return make('b', '', text);
  return slanted ? make('i', '', text) : text;
};

const paragraph = (pieces, className = '') => make('p', className, ...pieces.map(pieceNode));

const triesOf = (tries) => make('div', 'svl-tries', ...tries.map(({ text, link }) => buttonOf('svl-try', text, link)));

const foldedAnswer = (question, answer) =>
  make('details', 'svl-quiz', make('summary', '', ...question.map(pieceNode)), paragraph(answer));

const sectionNode = ({ title, text, tries, question, answer }, i) =>
  make('section', 'svl-section',
    make('h3', '', `${i + 1}. ${title}`),
    ...text.map((pieces) => paragraph(pieces)),
    triesOf(tries),
    foldedAnswer(question, answer),
  );

const entryNode = ({ number: n, title, answer, tries, asked }) => {
  const node = make('details', 'svl-entry',
    make('summary', '', n ? make('span', 'svl-number', String(n)) : null, make('span', '', title)),
    ...answer.map((pieces) => paragraph(pieces)),
    triesOf(tries),
    asked ? make('p', 'svl-asked', 'asked at: ', ...asked.flatMap((each, i) => (i ? [', ', pieceNode(each)] : [pieceNode(each)]))) : null,
  );
  if (n) node.id = `question-${n}`;
  return node;
};

const pairsNode = (className, pairs) => make('dl', className,
  ...pairs.flatMap(({ left, right }) => [make('dt', '', ...left.map(pieceNode)), make('dd', '', ...right.map(pieceNode))]));

const CHAPTERS = {
  lesson: ({ lesson }) => lesson.map(sectionNode),
  questions: ({ questions }) => questions.flatMap(({ title, questions: list }) => [make('h3', '', title), ...list.map(entryNode)]),
  mistakes: ({ mistakes }) => [
    make('p', '',
      'Five mistakes of the law that are easily made, one by one and all at once. ',
      'Four have a switch in the exactness lab; the fifth takes several steps to show.',
    ),
    ...mistakes.map((entry) => {
      const node = entryNode(entry);
      node.open = true;
      return node;
    }),
  ],
  remember: ({ sentences, wrong }) => [
    make('h3', '', 'Ten sentences'),
    make('ol', 'svl-sentences', ...sentences.map((pieces) => make('li', '', ...pieces.map(pieceNode)))),
    make('h3', '', 'Sentences that are wrong'),
    pairsNode('svl-wrong', wrong),
  ],
  glossary: ({ glossary }) => [pairsNode('svl-glossary', glossary)],
  reading: ({ reading, history }) => [
    make('h3', '', 'Six papers'), pairsNode('svl-glossary', reading),
    make('h3', '', 'A history in five lines'), pairsNode('svl-glossary', history),
  ],
};

let text = null;
const scrolled = {};
let chapter = 'lesson';

const show = (name) => {
  scrolled[chapter] = part('text').scrollTop;
  chapter = name;
  element.querySelectorAll('[data-chapter]').forEach((node) => node.setAttribute('aria-selected', String(node.dataset.chapter === name)));
  if (text) part('text').replaceChildren(...CHAPTERS[name](text));
  part('text').scrollTop = scrolled[name] ?? 0;
};

const draw = () => {
  text = props.value ? JSON.parse(props.value) : null;
  if (text) show(chapter);
};

// --- experiments ------------------------------------------------------------------------------------------------------

// Beside a wide text the run is in view; elsewhere it has a tab to itself.
const runInView = () => {
  const player = document.querySelector('.sv-player');
  return player !== null && isSeen(player);
};

const lookAtRun = () => { if (!runInView()) openTab('step'); };

// Goes to a beat of a recorded run, which the server sends if it is not on screen; then does what follows.
const goToBeat = ({ recorded, beat }, then) => {
  heard('arrived', then, { once: true });
  if (announce('beat', { recorded, beat })) trigger('show', { recorded });
};

const openExactness = (ask) => {
  leaveAsk({ seed: 1, ...ask });
  openTab('exactness');
};

// A field of a lab as a person would fill it, once it is there: a lab is drawn when it is first opened.
const fillField = (id, value, left = 200) => {
  const field = document.querySelector(`#${CSS.escape(id)} input[type="number"], #${CSS.escape(id)} textarea, #${CSS.escape(id)} input`);
  if (!field) {
    if (left > 0) requestAnimationFrame(() => fillField(id, value, left - 1));
    return;
  }
  field.value = value;
  ['input', 'change', 'blur'].forEach((name) => field.dispatchEvent(new Event(name, { bubbles: true })));
};

// A lab's fields are filled once its opening has been asked for: what they hold before, the answer may replace.
const afterOpening = (lab, act) => {
  const heardIt = new AbortController();
  const opened = ({ detail }) => {
    if (detail !== lab) return;
    heardIt.abort();
    act();
  };
  heard('opening', opened, { signal: heardIt.signal });
};

const pressWhenThere = (id, left = 200) => {
  const node = document.querySelector(`#${CSS.escape(id)}`);
  if (node) {
    node.scrollIntoView({ block: 'center' });
    node.click();
  } else if (left > 0) requestAnimationFrame(() => pressWhenThere(id, left - 1));
};

const ACTS = {
  run: (link) => goToBeat(link, lookAtRun),
  exact: (link) => (link.recorded ? goToBeat(link, () => openExactness(link.ask)) : openExactness(link.ask)),
  set: ({ values }) => {
    trigger('set', { values });
    const said = Object.entries(values).map(([name, value]) => `${name} ${value}`);
    part('note').textContent = `Set: ${said.join(', ')}. Press Run when you like.`;
    lookAtRun();
  },
  lab: ({ lab, fields, press }) => {
    if (Object.keys(fields).length > 0) afterOpening(lab, () => Object.entries(fields).forEach(([id, value]) => fillField(id, value)));
    openTab(lab);
    if (press) pressWhenThere(press);
  },
};

const act = (link) => {
  part('note').textContent = '';
  ACTS[link.kind](link);
};

// --- listening --------------------------------------------------------------------------------------------------------

// The word under the pointer, else the one with the focus: text that scrolls under a resting pointer takes nothing away.
const lightWord = (target) => {
  const word = target?.closest?.('[data-show]') ?? document.activeElement?.closest?.('.svl [data-show]');
  lightUp(word?.dataset.show, word);
};
['pointerover', 'focusin'].forEach((name) => element.addEventListener(name, (event) => lightWord(event.target)));
element.addEventListener('pointerleave', () => lightWord(null));
element.addEventListener('focusout', () => lightUp(null));
element.addEventListener('click', (event) => {
  const chosen = event.target.closest('[data-chapter]');
  if (chosen) show(chosen.dataset.chapter);
});
// Keys that scroll the text are not the player's while the text has the focus.
element.addEventListener('keydown', (event) => event.stopPropagation());
const noteScroll = () => {
  if (part('text').offsetParent !== null) scrolled[chapter] = part('text').scrollTop;
};
part('text').addEventListener('scroll', noteScroll, { passive: true });
watch('shown', () => {
  part('text').scrollTop = scrolled[chapter] ?? 0;
});

watch('value', draw);
show(chapter);
draw();
