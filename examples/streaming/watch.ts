// Follows a run as it happens.
import type { LonghaulClient } from 'longhaul/client';

/** `write` shows text, and `keep` stores a cursor: with it, another process continues where this one was. */
export async function watch(
  client: LonghaulClient,
  runId: string,
  { cursor, write, keep }: { cursor?: string; write: (text: string) => void; keep: (cursor: string) => void },
): Promise<void> {
  for await (const item of client.handle(runId).stream(cursor === undefined ? {} : { cursor })) {
    if (item.type === 'delta' && item.delta.type === 'text') write(item.delta.text); // as the model writes it
    if (item.type === 'event') keep(item.cursor); // to continue after it, on any machine, at any time
  }
}
