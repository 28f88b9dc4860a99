// From `longhaul dev` to Temporal Cloud or your own cluster: the code stays, the configuration is a profile of the Temporal CLI.
import { defineAgent } from 'longhaul';
import { connect, type LonghaulClient } from 'longhaul/client';
import { createWorker, type CreateWorkerOptions, type LonghaulWorker } from 'longhaul/worker';

export const canary = defineAgent({ name: 'canary', model: 'openai/gpt-5-nano', instructions: 'Answer with the word "ready".' });

/**
 * No address in the code. Both sides read TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and TEMPORAL_API_KEY, or the profile that TEMPORAL_PROFILE
 * names in `temporal.toml` (TEMPORAL_CONFIG_FILE):
 *
 *   [profile.cloud]
 *   address = "my-ns.abc12.tmprl.cloud:7233"
 *   namespace = "my-ns.abc12"
 *   api_key = "…"
 */
export function workerAnywhere(options: CreateWorkerOptions): Promise<LonghaulWorker> {
  return createWorker(options);
}

export function clientAnywhere(): Promise<LonghaulClient> {
  return connect();
}

/** After the move: a run that goes through the server, a worker and the provider, and shows in lists. */
export async function smokeTest(client: LonghaulClient, taskQueue?: string): Promise<string[]> {
  const problems: string[] = [];
  const { runId, success, summary } = await client.run(canary, {
    input: 'Ready?',
    tags: ['canary'],
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
  if (!success) problems.push(summary());
  // Lists need the search attributes of Longhaul. A worker registers them if its key may; an administrator does otherwise.
  const listed = await Array.fromAsync(client.list({ agent: canary.name, runIdPrefix: runId })).catch(() => []);
  if (listed.length === 0) problems.push('The run is in no list: are the search attributes registered? The worker has logged the command');
  return problems;
}
