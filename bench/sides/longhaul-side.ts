import type { NativeConnection } from '@temporalio/worker';
import { openai } from '../../activities/models/openai/openai.ts';
import type { LonghaulClient } from '../../src/client/index.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { createWorker } from '../../worker/index.ts';
import type { CallClock } from './call-clock.ts';
import { codecOptions } from './codec-options.ts';
import { AS_PUBLISHED } from './as-published.ts';
import { readerAgent } from './reader-agent.ts';
import { runsAgent } from './runs-agent.ts';
import { TOOL_NAME } from '../script/scripted-run.ts';
import { callsOf, type Pace, type Side, type SideSurroundings } from './side.ts';

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
