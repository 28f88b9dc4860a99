import type { NativeConnection } from '@temporalio/worker';
import { openai } from '../../activities/models/openai/openai.ts';
import type { LonghaulClient } from '../../src/client/index.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { createWorker } from '../../worker/index.ts';
import type { CallClock } from './call-clock.ts';
import { AS_PUBLISHED } from '../../test/processes/workflow-bundle.ts';
import { readerAgent } from './reader-agent.ts';
import { TOOL_NAME, promptFor } from '../script/scripted-run.ts';
import { callsOf, type Pace, type Side, type SideSurroundings, type Codec } from './side.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { CodecOptions } from '../../src/codec/encryption.ts';

const TASK_QUEUES: Readonly<Record<Pace, string>> = { step: 'bench-longhaul', burst: 'bench-bursts' };

/** Longhaul as in a user's project: an agent with one tool, a worker, the OpenAI provider with Chat Completions, the client. */
export async function longhaulSide(
  connection: NativeConnection,
  client: LonghaulClient,
  clock: CallClock,
  { namespace, baseURL, resultChars, codec, tier, pace = 'step' }: SideSurroundings,
): Promise<Side> {
  const taskQueue = TASK_QUEUES[pace];
  const reader = readerAgent(resultChars, { tier, pace });
  const worker = await createWorker({
    agents: [reader],
    providers: { fake: openai({ api: 'chat', baseURL, apiKey: 'unused' }) },
    connection,
    namespace,
    taskQueue,
    shutdownGrace: 1_000,
    ...codecOptions(codec),
    worker: { bundlerOptions: AS_PUBLISHED, interceptors: { activity: [clock.interceptor] } },
  });
  const running = worker.run();
  return {
    name: 'longhaul',
    modelActivity: pace === 'burst' ? ACTIVITIES.runBurst : ACTIVITIES.callModel,
    toolActivity: TOOL_NAME,
    calls: callsOf,
    run: runsAgent(client, reader, taskQueue),
    stop: async () => {
      worker.shutdown();
      await running;
    },
  };
}

/** The part of a side that runs an agent through the client. Rejects for a run that did not end with its answer. */
export function runsAgent(client: LonghaulClient, agent: AnyAgent, taskQueue: string): Side['run'] {
  return async (runId, steps, reasoningChars) => {
    const result = await client.run(agent, { runId, input: promptFor(steps, reasoningChars), limits: { steps: steps + 1 }, taskQueue });
    if (result.status !== 'completed') throw new Error(`Run "${runId}" of the agent ended as "${result.status}": ${result.error}`);
  };
}

/** The options of a worker and of a client for a codec of the bench: `zstd` compresses at every size. */
export function codecOptions(codec: Codec): { codec?: CodecOptions } {
  return codec === 'none' ? {} : { codec: { compression: { threshold: 0 } } };
}
