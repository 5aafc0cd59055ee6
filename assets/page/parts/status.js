// The line under the controls: what is happening, or what is wrong. Text only.

import { heard } from '../../player/state/bridge.js';

const line = element.querySelector('.sv-status');

// Whoever predicts a run is not told how it went on.
const keptBack = (said) => {
  if (!said.tells || !document.body.classList.contains('sv-predicting')) return said;
  return { ...said, text: said.tone === 'busy' ? 'The run is being made.' : '', share: null };
};

const show = () => {
  const { tone, text, share } = keptBack(props.value ? JSON.parse(props.value) : { tone: 'quiet', text: '', share: null });
  const words = document.createElement('span');
  words.textContent = text;
  const bar = document.createElement('i');
  bar.hidden = share === null;
  bar.style.setProperty('--share', share ?? 0);
  line.className = `sv-status sv-${tone}`;
  line.setAttribute('role', tone === 'error' ? 'alert' : 'status');
  line.replaceChildren(bar, words);
};

watch('value', show);
heard('predicting', show);
show();
