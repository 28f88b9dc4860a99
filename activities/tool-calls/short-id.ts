import { randomFillSync } from 'node:crypto';

const ID_BYTES = 6;

/** Random bytes for 512 ids: generating them one id at a time would take longer than the rest of a quick call. */
const pool = Buffer.alloc(ID_BYTES * 512);
let used = pool.length;

/** Returns an id of eight characters, which is unique enough among the results of one run. */
export function shortId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.toString('base64url', used - ID_BYTES, used);
}
