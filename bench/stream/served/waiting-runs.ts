import type { LonghaulClient, RunHandle } from '../../../src/client/index.ts';
import type { TokenScript } from '../token-script.ts';
import { reporter } from './reporter.ts';

const AGAIN_MS = 20;
const WAITS_WITHIN_MS = 60_000;

/** Starts a run of the script that waits for a decision first, and returns once it waits. */
export async function startWaiting(client: LonghaulClient, runId: string, script: TokenScript): Promise<RunHandle<unknown>> {
  const run = await client.start(reporter, { runId, input: JSON.stringify({ ...script, asks: true }) });
  const deadline = Date.now() + WAITS_WITHIN_MS;
  while ((await run.approvals()).pending.length === 0) {
    if (Date.now() > deadline) throw new Error(`Run "${runId}" asks for no decision`);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  return run;
}

/** Lets the run that waits continue. */
export async function approve(run: RunHandle<unknown>): Promise<void> {
  for (const waiting of (await run.approvals()).pending) await run.approve(waiting, { by: 'bench' });
}
