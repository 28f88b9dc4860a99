import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { type AnyAgent, defineAgent, defineTool, type ToolDefinition } from '../../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { type Testbed, until } from '../testbed/testbed.ts';

/** A worker that was there before the deploy: it has other agents, and the same model. */
export function old(testbed: Testbed, model: ScriptedModel = scriptedModel([]), more: object = {}): Promise<unknown> {
  return testbed.work({ agents: [assistant], providers: { scripted: model }, ...more });
}

/** A tool that waits for a decision and counts its calls, as a release has it that the old worker is not. */
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

/** An agent with that tool, and the model for one call of it. */
export interface Release {
  agent: AnyAgent;
  providers: Record<string, ScriptedModel>;
  model: ScriptedModel;
  calls: () => number;
}

/** What a release has. */
export function release(name: string, options: { effect?: 'once'; tier?: 'local' } = {}): Release {
  const { tool, calls } = counted(options);
  const model = scriptedModel([callTool('tool_b', {}, 'c1'), say('Done.')]);
  return { agent: defineAgent({ name, model: `${name}/m`, tools: [tool] }), providers: { [name]: model }, model, calls };
}

/** What every model was told, as text. */
export function told({ requests }: ScriptedModel): string {
  return JSON.stringify(requests);
}

/** Waits until the run says that it waits for what no worker has had. */
export async function waitsFor(run: RunHandle<unknown>, name: string): Promise<void> {
  await until(async () => (await run.status()).missing?.some((one) => one.name === name) === true, `the run waits for "${name}"`);
}
