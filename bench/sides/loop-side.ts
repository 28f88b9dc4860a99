import type { Client } from '@temporalio/client';
import { type NativeConnection, Worker } from '@temporalio/worker';
import OpenAI from 'openai';
import { fileURLToPath } from 'node:url';
import { AS_PUBLISHED } from '../../test/processes/workflow-bundle.ts';
import type { CallClock } from './call-clock.ts';
import { loopActivities } from '../loop/activities.ts';
import { PAGE_LOOP } from '../loop/protocol.ts';
import { promptFor, TOOL_NAME } from '../script/scripted-run.ts';
import { callsOf, type Side, type SideSurroundings, type Tier } from './side.ts';

const TASK_QUEUE = 'bench-loop';

/** The hand-written loop: its own workflow, activities and worker, on the same connection, server and provider. */
export async function loopSide(
  connection: NativeConnection,
  client: Client,
  clock: CallClock,
  { namespace, baseURL, resultChars, tier }: SideSurroundings,
): Promise<Side> {
  const openai = new OpenAI({ baseURL, apiKey: 'unused', maxRetries: 0 });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('../loop/workflow.ts', import.meta.url)),
    bundlerOptions: AS_PUBLISHED,
    activities: loopActivities(openai, 'pages', resultChars),
    interceptors: { activity: [clock.interceptor] },
    shutdownGraceTime: 1_000,
  });
  const running = worker.run();
  return {
    name: 'loop',
    modelActivity: 'askModel',
    toolActivity: TOOL_NAME,
    calls: callsOf,
    run: async (runId, steps) => {
      await client.workflow.execute<(prompt: string, tier: Tier) => Promise<string>>(PAGE_LOOP, {
        workflowId: runId,
        taskQueue: TASK_QUEUE,
        args: [promptFor(steps), tier],
      });
    },
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await running;
    },
  };
}
