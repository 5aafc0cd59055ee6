// Small runs with known numbers, in the shape of the real ones.

const P = { accepted: 0.3, rejected: 0.1, discarded: 0.2 };

const draftOf = (state, i) => ({
  id: i + 1, p: P[state], q: 0.4, coin: state === 'discarded' ? null : 0.5, state, mass: 0.25, overlap: 0.75, u_draft: 0.6, low: 0.2,
  high: 0.6, row: null,
});

const finalOf = (kind) => kind && { kind, id: 9, p: 0.5, q: 0.25, mass: 0.5, u: 0.1, low: 0, high: 0.5, fallback: false, row: null };

// A step by its letters: A accepted, R rejected, D discarded; `final` is residual, bonus or null.
export const stepOf = (letters, final, number = 1) => ({
  step: number, k: letters.length, k_reason: null,
  drafts: Array.from(letters, (letter, i) => draftOf({ A: 'accepted', R: 'rejected', D: 'discarded' }[letter], i)),
  final: finalOf(final), ms: { draft: 4, verify: 10, rest: 1, step: 15 }, totals: { tokens: 0, target_passes: number },
});

const SETTINGS = {
  pair: 'toy', draft: { kind: 'model', name: 'toy-0.9' }, k: 3, temperature: 1, top_k: 0, top_p: 1, max_new_tokens: 40, seed: 7,
  chat: false,
  label: null, fault: null, end_ids: [0], top_m: 8, overrides: [],
};

// A run of steps, each given as [letters, final].
export const traceOf = (...steps) => {
  const made = steps.map(([letters, final], i) => stepOf(letters, final, i + 1));
  made.reduce((tokens, step) => {
    step.totals.tokens = tokens + step.drafts.filter((draft) => draft.state === 'accepted').length + (step.final ? 1 : 0);
    return step.totals.tokens;
  }, 0);
  return {
    run_id: 'r1', parent: null, settings: { ...SETTINGS }, prompt: { text: '1 15' }, steps: made, stop: 'length', weights: null,
    costs: null,
    tokens: { 1: 'a', 2: ' b', 3: 'c', 4: 'd', 9: '\n' }, token_ids: [], baseline: null, machine: 'test',
  };
};
