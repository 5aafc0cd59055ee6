// Keys. They act unless a text field, a menu or a slider has the focus, and leave Space and Enter to a focused button.

const KEYS = {
  ' ': () => togglePlay(),
  ArrowRight: (event) => moveBy(1, event.shiftKey ? 'step' : state.speed),
  ArrowLeft: (event) => moveBy(-1, event.shiftKey ? 'step' : state.speed),
  PageDown: () => moveBy(1),
  PageUp: () => moveBy(-1),
  Home: () => moveTo(0),
  End: () => hasBeats() && moveTo(lastBeat()),
  n: () => moveToNext('rejected'),
  b: () => moveToNext('bonus'),
  p: () => setPredicting(!predicting.on),
  a: () => answer('accept'),
  r: () => answer('reject'),
  f: () => setPresenting(!isPresenting()),
  '.': () => setBlank(true),
  Escape: () => { if (!closeTop()) escape(); },
  '?': () => part('help').showModal(),
};

const escape = () => {
  if (closeEndCard()) return;
  if (isPresenting()) setPresenting(false);
  else endCaptions();
};

const typing = (target) => target.closest?.('input, textarea, select, [contenteditable], [role="listbox"], [role="slider"]:not([data-part="skyline"]), dialog');

const ownsKey = (target, key) => (key === ' ' || key === 'Enter') && target.closest?.('button, a, summary, [role="button"], [role="gridcell"]');

const pressKey = (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || root.offsetParent === null || typing(event.target) || ownsKey(event.target, event.key)) return;
  const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act || state.trace === null) return;
  event.preventDefault();
  act(event);
};

// Inside the grid: up and down go from row to row, Enter or Space chooses a cell.
const pressInGrid = (event) => {
  const node = event.target.closest('.sv-cell');
  if (!node) return;
  if (event.key === 'Enter' || event.key === ' ') chooseNode(node);
  else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') focusRow(node, event.key === 'ArrowDown' ? 1 : -1);
  else return;
  event.preventDefault();
};
