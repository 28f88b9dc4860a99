// Work that has until tomorrow pays half: its model calls wait for a batch of the provider, without a slot of a worker and without events.
import { defineAgent } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';
import { openai, type CreateWorkerOptions } from 'longhaul/worker';

export const sorter = defineAgent({
  name: 'sorter',
  model: 'openai/gpt-5',
  instructions: 'Sort the letter: complaint, order or other. Answer with one word.',
});

/** Of the worker. Calls wait up to five minutes for others; what the provider has not answered after a day is asked at the full price. */
export const workerOptions = {
  providers: { openai: openai({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none' }) },
  batch: { openai: { window: '5m', deadline: '24h', onExpired: 'interactive' } },
} satisfies Partial<CreateWorkerOptions>;

/** Starts a run for each letter. A letter that is sent again is the same run. */
export async function sortTonight(client: LonghaulClient, letters: ReadonlyMap<string, string>): Promise<string[]> {
  const runIds: string[] = [];
  for (const [id, text] of letters) {
    const { runId } = await client.start(sorter, {
      input: text,
      tier: 'batch',
      runId: `letter-${id}`,
      ifExists: 'return',
      tags: ['letters'],
    });
    runIds.push(runId);
  }
  return runIds;
}
