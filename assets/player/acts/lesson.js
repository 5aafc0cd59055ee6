// Lessons: a link that shows, locks or hides each control and holds a task. A help for a class, not a lock on a door: whoever
// edits the address gets everything back.

import { beatWords } from '../run/beats.js';
import { facts } from '../state/facts.js';
import { part } from '../state/host.js';
import { cutText, fullLink, LABEL_LENGTH, linkedNames, linkedTask, linkOf, TASK_LENGTH } from '../state/link.js';
import { isStandalone } from '../state/modes.js';
import { currentBeat, hasBeats } from '../state/state.js';
import { make } from '../draw/dom.js';

// What a lesson can lock or hide: the menu of recorded runs and the controls, by name, as a teacher knows them.
const lockable = () => ({ recorded: 'Recorded runs', ...Object.fromEntries(byPlace().map(({ name, title }) => [name, title])) });

// The controls as they stand: in the first row, then under More.
const byPlace = () => [...facts.controls.filter(({ more }) => !more), ...facts.controls.filter(({ more }) => more)];

const WAYS = { show: 'show', lock: 'lock', hide: 'hide' };

// --- a student's side: hidden controls are gone, locked ones are marked; it is the server that disables these

const MARK = 'content: "locked"; position: absolute; right: 2px; top: 100%; font: 12px/12px system-ui, sans-serif; color: var(--sv-soft);';

const markOf = (name) => `#${name}::before { ${MARK} }`;

const lessonRules = () => {
  const known = Object.keys(lockable());
  const hidden = linkedNames('hide', known);
  const locked = linkedNames('lock', known);
  const gone = [...hidden];
  if ([...hidden, ...locked].includes('prompt')) gone.push('examples');
  const isGone = ({ name, more }) => !more || name === 'agreement' || hidden.includes(name);
  if (facts.controls.every(isGone)) gone.push('more');
  return [...gone.map((name) => `#${name} { display: none !important; }`), ...locked.map(markOf)].join('\n');
};

export const followLesson = () => {
  const rules = isStandalone() ? '' : lessonRules();
  if (rules) document.head.append(make('style', '', rules));
};

// --- a teacher's side

export const lessons = { rows: [] };

export const drawLocks = () => {
  part('locks').replaceChildren(
    ...Object.entries(lockable()).map(([name, words]) => {
      const choice = make('select', '',
        ...Object.entries(WAYS).map(([value, text]) => {
          const node = make('option', '', text);
          node.value = value;
          return node;
        }),
      );
      choice.dataset.control = name;
      if (linkedNames('lock', [name]).length) choice.value = 'lock';
      if (linkedNames('hide', [name]).length) choice.value = 'hide';
      return make('label', '', make('span', '', words), choice);
    }),
  );
  part('task').value = linkedTask();
};

const controlsThat = (way) =>
  [...part('locks').querySelectorAll('select')]
    .filter((node) => node.value === way)
    .map((node) => node.dataset.control)
    .join(',');

const lessonLink = () => {
  const query = new URLSearchParams(linkOf());
  const said = {
    task: cutText(part('task').value, TASK_LENGTH),
    label: cutText(part('label').value, LABEL_LENGTH),
    lock: controlsThat('lock'),
    hide: controlsThat('hide'),
    predict: part('predict-first').checked ? '1' : '',
    present: '',
  };
  Object.entries(said).forEach(([name, value]) => (value ? query.set(name, value) : query.delete(name)));
  return fullLink(`?${query}`);
};

const lessonTitle = (task, i) => task || `Lesson ${i + 1}`;

// Nothing in a title may end its link, its cell or its line, or be taken for markup.
const plainMarkdown = (text) => text.replace(/[\\`*_{}[\]()#+!|<>~&]/g, (sign) => `\\${sign}`);

const plainLink = (link) => link.replace(/[()|<>\\]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);

const markdownRow = ({ task, link }, i) => `| ${i + 1} | [${plainMarkdown(lessonTitle(task, i))}](${plainLink(link)}) |`;

/** @type {(rows: {task: string, link: string}[]) => string} */
export const asMarkdown = (rows) => ['| # | lesson |', '| --- | --- |', ...rows.map(markdownRow)].join('\n');

const removeButton = (i) => {
  const node = make('button', '', 'Remove');
  node.type = 'button';
  node.dataset.remove = String(i);
  return node;
};

const rowNodeOf = ({ task, link }, i) => {
  const anchor = make('a', '', lessonTitle(task, i));
  Object.assign(anchor, { href: link, target: '_blank', rel: 'noopener' });
  return make('li', '', anchor, ' ', removeButton(i));
};

export const drawLessons = () => {
  part('count').textContent = `${Array.from(part('task').value).length} of ${TASK_LENGTH} characters`;
  part('starts').textContent = hasBeats()
    ? `Starts here: step ${currentBeat().step}, ${beatWords(currentBeat())}.`
    : 'Starts with the controls as they were for this run.';
  part('lessons').replaceChildren(...lessons.rows.map(rowNodeOf));
  part('list-buttons').hidden = lessons.rows.length === 0;
};

/** @type {(i: number) => void} */
export const removeLesson = (i) => {
  lessons.rows.splice(i, 1);
  drawLessons();
};

export const LESSON_DOES = {
  open: () => window.open(lessonLink(), '_blank', 'noopener'),
  add: () => {
    lessons.rows.push({ task: cutText(part('task').value, TASK_LENGTH), link: lessonLink() });
    drawLessons();
  },
};
