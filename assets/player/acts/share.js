// The dialog Share: files of the run on screen, its link, and a builder for lessons.

import { whereabouts } from '../state/branches.js';
import { askForExport, heard } from '../state/bridge.js';
import { part } from '../state/host.js';
import { fullLink, LABEL_LENGTH, linkedText, linkOf } from '../state/link.js';
import { isStandalone } from '../state/modes.js';
import { stopPlaying } from '../state/moves.js';
import { callsOf } from '../state/reveal.js';
import { state } from '../state/state.js';
import { asMarkdown, drawLessons, drawLocks, LESSON_DOES, lessons, removeLesson } from './lesson.js';

const firstLabel = () => linkedText('label', LABEL_LENGTH) || state.trace.settings.label;

export const openShare = () => {
  if (state.trace === null || isStandalone()) return;
  stopPlaying();
  if (part('label').value === '') part('label').value = firstLabel();
  part('link').value = fullLink(linkOf());
  ['saved', 'copied'].forEach((name) => part(name).replaceChildren());
  drawFileButtons();
  drawLessons();
  part('share').showModal();
};

const WHY_NO_FILE = 'The run is still going: wait for its end, or stop it.';

const drawFileButtons = () => {
  element.querySelectorAll('[data-file]').forEach((node) => {
    const isMistake = node.dataset.file === 'csv' && state.trace.settings.fault !== null;
    node.disabled = state.live || isMistake;
    if (isMistake) part('saved').textContent = 'A run with a deliberate mistake is exported as JSON and HTML only.';
  });
  if (state.live) part('saved').textContent = WHY_NO_FILE;
};

// --- files: the server writes them, since it knows the run to the last digit

const askForFile = (kind) => {
  const query = linkOf();
  const { value: label } = part('label');
  part('saved').textContent = 'Writing the file.';
  askForExport({ kind, label, calls: callsOf(state.trace.run_id), query, ...whereabouts() });
};

const fileCame = ({ detail }) => { part('saved').textContent = detail.error ?? `Saved as ${detail.name}`; };

// --- copying: where a clipboard is refused, the text stands there, marked

const copyText = async (field, text) => {
  try {
    await navigator.clipboard.writeText(text);
    part('copied').textContent = 'Copied.';
  } catch {
    field.hidden = false;
    field.value = text;
    field.focus();
    field.select();
    part('copied').textContent = 'The browser refused to copy: the text is marked, press Ctrl+C (⌘C).';
  }
};

const COPIES = {
  link: () => copyText(part('link'), part('link').value),
  markdown: () => copyText(part('markdown'), asMarkdown(lessons.rows)),
};

export const listenToShare = () => {
  if (!part('share')) return;
  drawLocks();
  heard('file', fileCame);
  part('share').addEventListener('input', drawLessons);
  part('share').addEventListener('click', (event) => {
    const { file, copy, lesson, remove } = event.target.closest('button')?.dataset ?? {};
    if (file) askForFile(file);
    if (copy) COPIES[copy]();
    if (lesson) LESSON_DOES[lesson]();
    if (remove) removeLesson(Number(remove));
  });
};
