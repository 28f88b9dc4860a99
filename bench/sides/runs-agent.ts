import type { LonghaulClient } from '../../src/client/index.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { promptFor } from '../script/scripted-run.ts';
import type { Side } from './side.ts';

/** The part of a side that runs an agent through the client. Rejects for a run that did not end with its answer. */
export function runsAgent(client: LonghaulClient, agent: AnyAgent, taskQueue: string): Side['run'] {
  return async (runId, steps, reasoningChars) => {
    const result = await client.run(agent, { runId, input: promptFor(steps, reasoningChars), limits: { steps: steps + 1 }, taskQueue });
    if (result.status !== 'completed') throw new Error(`Run "${runId}" of the agent ended as "${result.status}": ${result.error}`);
  };
}
