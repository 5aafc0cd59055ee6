// What the controls would change, written beside them.

import { changedControls, controlNames } from '../state/controls.js';

const changeWords = ({ control, now }) => (control.is_number ? `${control.words} ${now}` : control.words);

const wasWords = ({ control, was }) => (control.is_number ? `was ${was}` : 'changed');

// Gradio's own elements come and go, so their additions are styles of the body: a custom property that holds a CSS string.
const setStyleText = (name, text) => {
  if (text === null) document.body.style.removeProperty(name);
  else document.body.style.setProperty(name, JSON.stringify(text));
};

export const drawControls = () => {
  const changed = changedControls();
  controlNames().forEach((name) => {
    const change = changed.find(({ control }) => control.name === name);
    setStyleText(`--was-${name}`, change ? wasWords(change) : null);
  });
  setStyleText(
    '--run-with',
    changed.length === 0 ? null : `\u00a0with ${changed.length === 1 ? changeWords(changed[0]) : `${changed.length} changes`}`,
  );
  document.body.classList.toggle('sv-changed', changed.length > 0);
};
