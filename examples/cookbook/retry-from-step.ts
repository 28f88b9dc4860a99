// A run has failed, or went wrong, after ten minutes of work: it continues from a step, and the calls of earlier steps are kept.
import { defineAgent, defineTool } from 'longhaul';
import type { LonghaulClient, RetryReceipt } from 'longhaul/client';
import { z } from 'zod';

const crunch = defineTool({
  name: 'crunch',
  description: 'Computes the figures of a year, which takes minutes',
  parameters: z.object({ year: z.int() }),
  timeout: '20m',
  execute: ({ year }) => `figures of ${year}`,
});

export const analyst = defineAgent({
  name: 'analyst',
  model: 'openai/gpt-5',
  instructions: 'Compute the figures of each year, then compare them.',
  tools: [crunch],
});

/** After an outage, an invalid key or a bug in a tool: continues every run that has failed since, each from the step that failed. */
export async function retryFailed(client: LonghaulClient, since: Date): Promise<string[]> {
  const runIds: string[] = [];
  for await (const { runId } of client.list({ agent: analyst.name, status: 'error', startedAfter: since.toISOString() })) {
    await client.handle(runId).retry();
    runIds.push(runId);
  }
  return runIds;
}

/** After a wrong turn: the model is asked again for step 2, with a hint that the next request carries. */
export async function again(client: LonghaulClient, runId: string, fromStep: number, hint: string): Promise<RetryReceipt> {
  const run = client.handle(runId);
  const receipt = await run.retry({ fromStep }); // `dropped` of the receipt: messages and decisions that came later
  await run.send(hint, { mode: 'interrupt' }); // aborts the request that is repeated without it
  return receipt;
}
