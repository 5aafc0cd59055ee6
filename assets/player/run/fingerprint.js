// Where two runs part, read from their fingerprints. The fingerprint itself is made in Python.

// The steps after which a character of a fingerprint stands for the whole run up to there, as in fingerprint.py.
const CHECKPOINTS = [...Array.from({ length: 32 }, (_, i) => i + 1), 36, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256];

export const FINGERPRINT = /^[\w-]{8}\.[\w-]{0,45}$/;

// From where on two runs differ, in words; null where they are the same.
/** @type {(ours: string, theirs: string) => ?string} */
export const partingWords = (ours, theirs) => {
  if (ours === theirs) return null;
  const [mine, other] = [ours, theirs].map((print) => print.slice(9));
  const most = Math.max(mine.length, other.length);
  const at = Array.from({ length: most }, (_, i) => i).find((i) => mine[i] !== other[i]);
  if (at === undefined) return 'in its last steps';
  const [after, upTo] = [at === 0 ? 0 : CHECKPOINTS[at - 1], CHECKPOINTS[at]];
  return upTo - after === 1 ? `from step ${upTo} on` : `from a step between ${after + 1} and ${upTo} on`;
};
