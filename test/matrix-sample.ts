/**
 * Every nth part, the one at `turn` first (any whole number: turns go round). At least one part, however many are left out.
 * Which parts these are depends on the arguments alone, so that a failure can be repeated.
 */
export function everyNth<Part>(parts: readonly Part[], { every, turn }: { every: number; turn: number }): Part[] {
  const share = Math.max(1, Math.min(every, parts.length));
  return parts.filter((_, index) => index % share === turn % share);
}

/** The turn of a commit, by its hash: commits take turns at the parts of a matrix. */
export function turnOf(hash: string): number {
  if (!/^[0-9a-f]{4,64}$/.test(hash)) throw new Error(`MATRIX_SAMPLE is "${hash}": write the hash of a commit, such as 78c2cf7f`);
  return Number.parseInt(hash.slice(0, 4), 16);
}

/** Returns the parts of a matrix to run: all, or every nth one if `MATRIX_SAMPLE` is the hash of a commit, as in CI. */
export function matrixSample<Part>(parts: readonly Part[], { every = 12, env = process.env } = {}): Part[] {
  const hash = env['MATRIX_SAMPLE'];
  return hash === undefined ? [...parts] : everyNth(parts, { every, turn: turnOf(hash) });
}
