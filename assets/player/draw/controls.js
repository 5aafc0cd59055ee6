// What the controls would change, written beside them.

import { changedControls, CONTROL_NAMES, CONTROL_WORDS, WITHOUT_VALUE } from '../state/controls.js';

const changeWords = ({ name, now }) => (WITHOUT_VALUE.includes(name) ? CONTROL_WORDS[name] : `${CONTROL_WORDS[name] ?? name} ${now}`);

// Gradio's own elements come and go, so their additions are styles of the body: a custom property that holds a CSS string.
const setStyleText = (name, text) => {
  if (text === null) document.body.style.removeProperty(name);
  else document.body.style.setProperty(name, JSON.stringify(text));
};

export const drawControls = () => {
  const changed = changedControls();
  CONTROL_NAMES.forEach((name) => {
    const change = changed.find((each) => each.name === name);
    const was = change && (WITHOUT_VALUE.includes(name) ? 'changed' : `was ${change.was}`);
    setStyleText(`--was-${name}`, was ?? null);
  });
  setStyleText(
    '--run-with',
    changed.length === 0 ? null : `\u00a0with ${changed.length === 1 ? changeWords(changed[0]) : `${changed.length} changes`}`,
  );
  document.body.classList.toggle('sv-changed', changed.length > 0);
};
