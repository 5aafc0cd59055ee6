// Where two runs part, read from their fingerprints. The fingerprint itself is made in Python.

export const FINGERPRINT = /^[\w-]{8}\.[\w-]{0,45}$/;

// From where on two runs differ, in words; null where they are the same. `checkpoints` are the steps up to which a character stands.
/** @type {(ours: string, theirs: string, checkpoints: number[]) => ?string} */
export const partingWords = (ours, theirs, checkpoints) => {
  if (ours === theirs) return null;
  const [mine, other] = [ours, theirs].map((print) => print.slice(9));
  const most = Math.max(mine.length, other.length);
  const at = Array.from({ length: most }, (_, i) => i).find((i) => mine[i] !== other[i]);
  if (at === undefined) return 'in its last steps';
  const [after, upTo] = [at === 0 ? 0 : checkpoints[at - 1], checkpoints[at]];
  return upTo - after === 1 ? `from step ${upTo} on` : `from a step between ${after + 1} and ${upTo} on`;
};
