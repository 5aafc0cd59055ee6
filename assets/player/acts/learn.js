// A lesson asks for a beat of a recorded run, on screen or on its way: `window.specvizAsked` {recorded, beat}.

const askedBeat = () => {
  const asked = window.specvizAsked;
  if (!asked || state.live || state.recorded?.name !== asked.recorded) return null;
  window.specvizAsked = null;
  setTimeout(() => window.dispatchEvent(new Event('specviz:arrived'))); // once it has been drawn
  return indexOfBeat(state.clock, asked.beat);
};

// Says by `preventDefault` that the run is on screen, so that nobody has to send it.
const listenToLessons = () => window.addEventListener('specviz:beat', (event) => {
  const at = hasBeats() ? askedBeat() : null;
  if (at === null) return;
  event.preventDefault();
  endCaptions();
  moveTo(at);
});
