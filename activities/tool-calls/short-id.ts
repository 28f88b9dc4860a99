import { randomFillSync } from 'node:crypto';

const ID_BYTES = 6;

/** Random bytes for this many ids: asking for each one's alone would take longer than all else that a quick call costs. */
const pool = Buffer.alloc(ID_BYTES * 512);
let used = pool.length;

/** An id of eight characters, for what is one of few: results of a run. */
export function shortId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.toString('base64url', used - ID_BYTES, used);
}
