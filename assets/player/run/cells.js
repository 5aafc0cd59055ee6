// The trace as cells. Everything here reads; nothing draws.

const STATES = {
  accepted: { glyph: '✓', word: 'kept', many: 'kept' },
  rejected: { glyph: '✗', word: 'rejected', many: 'rejected' },
  discarded: { glyph: '○', word: 'not looked at', many: 'not looked at' },
  residual: { glyph: '↻', word: 'replacement', many: 'replacement (residual)' },
  bonus: { glyph: '+', word: 'bonus', many: 'bonus' },
};

// A step that drafted nothing ends in a draw of the kind bonus that is no bonus to anything.
const ALONE = { glyph: '+', word: "the target's own draw", many: "target's own draw" };

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

const finalCell = (step, final, position) => ({ ...final, step: step.step, position, state: final.kind, share: drawnWith(final), alone: step.k === 0 });

// The final draw; under a deliberate mistake there may be a second one.
const finalsOf = (step) => {
  const first = step.drafts.filter((draft) => draft.state === 'accepted').length + 1;
  return [step.final, step.extra].filter(Boolean).map((final, i) => finalCell(step, final, first + i));
};

const isFinal = (cell) => 'kind' in cell;

const cellsOf = (step) => [...step.drafts.map((draft, i) => draftCell(step, draft, i)), ...finalsOf(step)];

const inOutput = (cell) => cell.state !== 'rejected' && cell.state !== 'discarded';

const outputCells = (trace) => trace.steps.flatMap((step) => cellsOf(step).filter(inOutput));

// Whose coin it was, where it was not the run's own.
const coinName = (cell) => (cell.by ? `${cell.by} coin` : 'coin');

const isEnd = (trace, cell) => trace.settings.end_ids.includes(cell.id);

const sameCell = (a, b) => a.step === b.step && a.position === b.position && a.state === b.state;
