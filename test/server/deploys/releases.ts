import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { type AnyAgent, defineAgent, defineTool, type ToolDefinition } from '../../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { type Testbed, until } from '../testbed/testbed.ts';

/** Starts a worker from before the deploy: it has other agents, and the same model. */
export function old(testbed: Testbed, model: ScriptedModel = scriptedModel([]), more: object = {}): Promise<unknown> {
  return testbed.work({ agents: [assistant], providers: { scripted: model }, ...more });
}

/** A tool that waits for approval and counts its calls: only the new release has it. */
export function counted(options: { effect?: 'once'; tier?: 'local' } = {}): {
  tool: ToolDefinition<Record<string, never>>;
  calls: () => number;
} {
  let calls = 0;
  const tool = defineTool({
    name: 'tool_b',
    description: 'Counts',
    parameters: z.object({}),
    approval: 'always',
    ...options,
    execute: () => `call ${(calls += 1)}`,
  });
  return { tool, calls: () => calls };
}

/** An agent with that tool, and a model that calls the tool once. */
export interface Release {
  agent: AnyAgent;
  providers: Record<string, ScriptedModel>;
  model: ScriptedModel;
  calls: () => number;
}

/** Makes the agent and the model of the new release. */
export function release(name: string, options: { effect?: 'once'; tier?: 'local' } = {}): Release {
  const { tool, calls } = counted(options);
  const model = scriptedModel([callTool('tool_b', {}, 'c1'), say('Done.')]);
  return { agent: defineAgent({ name, model: `${name}/m`, tools: [tool] }), providers: { [name]: model }, model, calls };
}

/** The text of all requests to a model. */
export function told({ requests }: ScriptedModel): string {
  return JSON.stringify(requests);
}

/** Waits until the run reports that no worker has had this tool or agent. */
export async function waitsFor(run: RunHandle<unknown>, name: string): Promise<void> {
  await until(async () => (await run.status()).missing?.some((one) => one.name === name) === true, `the run waits for "${name}"`);
}
