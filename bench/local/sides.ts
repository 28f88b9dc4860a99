import { activityInfo } from '@temporalio/activity';
import type { NativeConnection } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { openai } from '../../activities/models/openai/openai.ts';
import type { LonghaulClient } from '../../src/client/index.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { createWorker } from '../../worker/index.ts';
import type { CallClock } from '../sides/call-clock.ts';
import { readerAgent } from '../sides/reader-agent.ts';
import { runsAgent } from '../sides/longhaul-side.ts';
import { TOOL_NAME, INSTRUCTIONS, TOOL_DESCRIPTION } from '../script/scripted-run.ts';
import { AS_PUBLISHED } from '../../test/processes/workflow-bundle.ts';
import { sequenceAnswers, sequenceModel } from '../script/scripted-models.ts';
import { callsOf, type Side, type SideSurroundings } from '../sides/side.ts';
import { CommandClock } from './command-clock.ts';
import { z } from 'zod';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import type { ModelName } from '../../src/core/domain/model.ts';

const TASK_QUEUE = 'bench-local';

/** The number of local calls in one answer: as many as fit into one workflow task, with a margin. */
const CALLS_AT_ONCE = 20;

/** The sides that are compared if tools are local. One worker runs all of them, with the same options. */
interface LocalSides {
  /** Longhaul with a local tool. */
  longhaul: Side;
  /**
   * The same with a remote tool; sequential calls of an empty local tool, without a model call between them; and a workflow of empty local
   * activities.
   */
  others: [remote: Side, sequence: Side, empty: Side];
  commands: CommandClock;
}

/** Longhaul with the tool in both tiers, and the SDK by itself, on one worker. */
export async function localSides(
  connection: NativeConnection,
  client: LonghaulClient,
  clock: CallClock,
  { namespace, baseURL, resultChars }: SideSurroundings,
): Promise<LocalSides> {
  const commands = new CommandClock();
  const begins = (runId: string): void => commands.begin(runId);
  const local = readerAgent(resultChars, { tier: 'local', begins });
  const remote = readerAgent(resultChars, { name: 'remote_reader' });
  const sequence = emptyToolAgent('calls/pages', begins);
  const worker = await createWorker({
    agents: [local, remote, sequence],
    providers: { fake: openai({ api: 'chat', baseURL, apiKey: 'unused' }), calls: sequenceModel({ atOnce: CALLS_AT_ONCE, args: '{}' }) },
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    shutdownGrace: 1_000,
    workflowsPath: fileURLToPath(new URL('workflow.ts', import.meta.url)),
    worker: {
      bundlerOptions: AS_PUBLISHED,
      activities: { [EMPTY_CALL]: () => begins(activityInfo().workflowExecution?.workflowId ?? '') },
      interceptors: {
        activity: [clock.interceptor, commands.interceptor],
        workflowModules: [fileURLToPath(new URL('command-recorder.ts', import.meta.url))],
      },
      sinks: commands.sinks,
    },
  });
  const running = worker.run();
  const stop = async (): Promise<void> => {
    if (worker.worker.getState() === 'RUNNING') worker.shutdown();
    await running;
  };
  const agentSide = (name: 'longhaul' | 'remote' | 'sequence', agent: AnyAgent): Side => ({
    name,
    modelActivity: ACTIVITIES.callModel,
    toolActivity: TOOL_NAME,
    calls: callsOf,
    run: runsAgent(client, agent, TASK_QUEUE),
    stop,
  });
  return {
    longhaul: agentSide('longhaul', local),
    others: [
      agentSide('remote', remote),
      { ...agentSide('sequence', sequence), calls: (pages) => pages + sequenceAnswers(pages, CALLS_AT_ONCE) },
      emptySide(client, stop),
    ],
    commands,
  };
}

function emptySide({ temporal }: LonghaulClient, stop: () => Promise<void>): Side {
  return {
    name: 'empty',
    modelActivity: EMPTY_CALL,
    toolActivity: EMPTY_CALL,
    calls: (steps) => steps,
    run: async (workflowId, steps) => {
      await temporal.workflow.execute<(count: number) => Promise<void>>(EMPTY_CALLS, { workflowId, taskQueue: TASK_QUEUE, args: [steps] });
    },
    stop,
  };
}

/**
 * An agent whose local tool has no arguments, does nothing and returns nothing, like the empty activity: the time between two
 * calls is their cost. The tool reports when it begins.
 */
function emptyToolAgent(model: ModelName, begins: (runId: string) => void): AnyAgent {
  return defineAgent({
    name: 'empty_tool',
    model,
    parallel: false,
    instructions: INSTRUCTIONS,
    tools: [
      defineTool({
        name: TOOL_NAME,
        description: TOOL_DESCRIPTION,
        parameters: z.object({}),
        tier: 'local',
        execute: (_, { runId }) => begins(runId),
      }),
    ],
  });
}

/** The workflow type of a run of empty local activities. */
const EMPTY_CALLS = 'emptyCalls';

/** The activity that does nothing. */
export const EMPTY_CALL = 'empty';
