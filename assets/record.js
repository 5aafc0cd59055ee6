// The trace as cells. Everything here reads; nothing draws.

const STATES = {
  accepted: { glyph: '✓', word: 'kept', many: 'kept' },
  rejected: { glyph: '✗', word: 'rejected', many: 'rejected' },
  discarded: { glyph: '○', word: 'not looked at', many: 'not looked at' },
  residual: { glyph: '↻', word: 'replacement', many: 'replacement (residual)' },
  bonus: { glyph: '+', word: 'bonus', many: 'bonus' },
};

// A step that drafted nothing ends in a draw of the kind bonus that is no bonus to anything.
const ALONE = { glyph: '+', word: "the target's own draw", many: "the target's own, nothing drafted" };

const stateOf = (cell) => (cell.alone ? ALONE : STATES[cell.state]);

const WHY_FEWER = {
  length: 'the length limit is near',
  context: 'the context is nearly full',
  proposals: 'the draft had no more to propose',
};

const WHY_STOPPED = {
  length: 'stopped at the length asked for',
  end: 'stopped at the end token',
  context: 'stopped: the context is full',
  stopped: 'stopped by hand',
  error: 'stopped by an error',
};

const DRAFT_KINDS = { lookup: 'prompt lookup', self: 'itself', noise: 'noise' };

const draftCell = (step, draft, i) => ({
  ...draft,
  step: step.step,
  position: i + 1,
  ratio: draft.coin === null ? null : draft.p / draft.q,
  p: draft.state === 'discarded' ? null : draft.p,
});

// The probability that a final token was drawn with.
const drawnWith = (final) => (final.kind === 'bonus' || final.fallback ? final.p : Math.max(final.p - final.q, 0) / final.mass);

const finalCell = (step) => step.final && {
  ...step.final,
  step: step.step,
  position: step.drafts.filter((draft) => draft.state === 'accepted').length + 1,
  state: step.final.kind,
  share: drawnWith(step.final),
  alone: step.k === 0,
};

const cellsOf = (step) => [...step.drafts.map((draft, i) => draftCell(step, draft, i)), finalCell(step)].filter(Boolean);

const cellAt = (trace, key) => {
  const step = trace.steps.find((each) => each.step === key.step);
  return step && cellsOf(step).find((cell) => cell.position === key.position && cell.state === key.state);
};

const inOutput = (cell) => cell.state !== 'rejected' && cell.state !== 'discarded';

const outputCells = (trace) => trace.steps.flatMap((step) => cellsOf(step).filter(inOutput));

const countStates = (trace) => {
  const counts = { ...Object.fromEntries(Object.keys(STATES).map((state) => [state, 0])), alone: 0 };
  trace.steps.forEach((step) => cellsOf(step).forEach((cell) => { counts[cell.alone ? 'alone' : cell.state] += 1; }));
  return counts;
};

// The row of numbers a chart of this cell needs; a residual shares the rejected draft's.
const rowOf = (trace, cell) => {
  if (cell.state !== 'residual') return cell.row;
  const rejected = cellAt(trace, { ...cell, state: 'rejected' });
  return rejected ? rejected.row : null;
};
