// The dialog Share: files of the run on screen, its link, and a builder for lessons.

const fullLink = (query) => `${window.location.origin}${window.location.pathname}${query}`;

const LABEL_OF_FIRST = () => linkedText('label', LABEL_LENGTH) || state.trace.settings.label;

const openShare = () => {
  if (state.trace === null || isStandalone()) return;
  stopPlaying();
  if (part('label').value === '') part('label').value = LABEL_OF_FIRST();
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
  window.specvizExport = JSON.stringify({ kind, label: part('label').value, calls: callsOf(state.trace.run_id), query, ...whereabouts() });
  part('saved').textContent = 'Writing the file.';
  document.querySelector('#export').click();
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

const listenToShare = () => {
  if (!part('share')) return;
  drawLocks();
  window.addEventListener('specviz:file', fileCame);
  part('share').addEventListener('input', drawLessons);
  part('share').addEventListener('click', (event) => {
    const { file, copy, lesson, remove } = event.target.closest('button')?.dataset ?? {};
    if (file) askForFile(file);
    if (copy) COPIES[copy]();
    if (lesson) LESSON_DOES[lesson]();
    if (remove) removeLesson(Number(remove));
  });
};
