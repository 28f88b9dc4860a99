import type { PayloadCodec } from '@temporalio/common';
import { setTimeout as pause } from 'node:timers/promises';

/** A worker's codec that loads runs with marked payloads one at a time and slowly, as on a busy machine. */
export function slowLoading(mark: string, loadMs: number): PayloadCodec {
  let before = Promise.resolve();
  return {
    encode: (payloads) => Promise.resolve(payloads),
    decode: async (payloads) => {
      if (payloads.some(({ data }) => data && Buffer.from(data).includes(mark))) {
        before = before.then(() => pause(loadMs));
        await before;
      }
      return payloads;
    },
  };
}
