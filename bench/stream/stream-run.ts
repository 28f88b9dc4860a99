import type { LonghaulClient, RunHandle } from '../../src/client/index.ts';
import { now } from '../figures/machine.ts';
import { ReceivedTokens } from './received-tokens.ts';
import { QUEUES } from './stream-workers.ts';
import { streamer } from './streamer.ts';
import type { TokenScript } from './token-script.ts';

/** Starts a run of the script, by the worker with the sink or by the one without. */
export function startScript(
  client: LonghaulClient,
  runId: string,
  script: TokenScript,
  sink: keyof typeof QUEUES,
): Promise<RunHandle<unknown>> {
  return client.start(streamer, { runId, input: JSON.stringify(script), taskQueue: QUEUES[sink] });
}

/** Waits for a run. Throws if it does not end with an answer. */
export async function completed(run: RunHandle<unknown>): Promise<void> {
  const { status, error } = await run.result({ steps: false });
  if (status !== 'completed') throw new Error(`Run "${run.runId}" ended as "${status}": ${String(error)}`);
}

/** Reads the stream of a run to its end. */
export async function readTokens(run: RunHandle<unknown>): Promise<ReceivedTokens> {
  const received = new ReceivedTokens();
  for await (const item of run.stream()) received.take(item, now());
  return received;
}
