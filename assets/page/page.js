// The page's own script, in its head: the functions that Gradio's events call by name (`js="specviz.NAME"`), and the address of a
// tab. Each stands in place of a handler on the server; none of them asks it.

import { ask, linkedTab, merge } from './late.js';
import { offer, openTab } from '../player/state/bridge.js';

// An update of props of a gr.HTML, as Gradio sends one. It replaces what was told before, so it always says all of it.
const updateOf = (props) => ({ __type__: 'update', props: { ...props } });

const told = { controls: null, ended: 0 }; // to the player
const shown = { exactness: 0, learn: 0 }; // how often each tab was opened

offer({
  // The controls' present values, for the player.
  controls: (...values) => {
    told.controls = JSON.stringify(values);
    return updateOf(told);
  },
  // A branch or a race has come to its end, however it ended.
  ended: () => {
    told.ended += 1;
    return updateOf({ ...told, computing: false }); // of two updates that come at once, only the later one's props arrive
  },
  // The tab of a lab was opened.
  shown: (name) => {
    shown[name] += 1;
    return updateOf({ shown: shown[name] });
  },
  ask,
  merge,
  linkedTab,
  openTab,
  same: (value) => value,
  // Gradio's menu has no placeholder of its own: what it is would not be said while a run of one's own is on screen.
  nameRecorded: () => {
    const menu = document.querySelector('#recorded input');
    if (menu) menu.placeholder = 'Recorded runs';
  },
});

// On a press only: Gradio selects the first tab by itself before the server has read the link.
document.addEventListener('click', ({ target }) => {
  const tab = target.closest('#tabs [role="tab"]');
  if (!tab) return;
  const query = new URLSearchParams(window.location.search);
  query.set('tab', tab.dataset.tabId);
  window.history.replaceState(window.history.state, '', `?${query}`);
});
