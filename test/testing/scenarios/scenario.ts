import { z } from 'zod';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { type AgentOptions, defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { AnyTool, ToolPolicyOptions } from '../../../src/define/tool-definition.ts';
import type { Resources, RunContext } from '../../../src/define/context.ts';
import type { TerminalStatus } from '../../../src/core/domain/run.ts';
import {
  type EffectsLedger,
  type ExpectedLine,
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptEntry,
  type TestOptions,
} from '../../../src/testing/index.ts';

/** One run that both kits run, and its expected result in both. */
export interface Scenario {
  /** A sentence of behavior. */
  name: string;
  agent: AnyAgent;
  /** The options of the test. Called for each kit, so that no state of one run gets into another. */
  options: () => TestOptions;
  /** The timeline of the run, without the first line, which is always `user: Go`. */
  timeline: readonly ExpectedLine[];
  status: TerminalStatus;
}

/** The data of a scenario other than its name and its agent. */
export interface ScenarioParts extends Omit<Partial<TestOptions>, 'model'> {
  script: readonly ScriptEntry[];
  model?: ScriptedModelOptions;
  timeline: readonly ExpectedLine[];
  /** Default `completed`. */
  status?: TerminalStatus;
}

/** Makes a scenario. Any function in `parts` must be stateless. */
export function scenario(name: string, agent: AnyAgent, parts: ScenarioParts): Scenario {
  const { script, model, timeline, status = 'completed', ...options } = parts;
  return {
    name,
    agent,
    options: () => ({ input: 'Go', ...options, model: scriptedModel(script, model) }),
    timeline: ['user: Go', ...timeline],
    status,
  };
}

/** The agent of a scenario. */
export function agentWith(tools: readonly AnyTool[], options: Partial<AgentOptions<never, never>> = {}): AnyAgent {
  return defineAgent({ name: 'agent', model: 'scripted/m', tools: tools as never, ...options });
}

/** A retry policy with short waits. */
export const QUICK = { backoff: { initial: 10, max: 20 } } as const;

/** A tool without parameters, or with one text. */
export function toolThat(
  name: string,
  execute: (args: { text?: string | undefined }, context: RunContext<Record<string, unknown>>) => unknown,
  policy: ToolPolicyOptions<Record<string, unknown>> & { approval?: never; parallel?: boolean; result?: z.ZodType } = {},
): AnyTool {
  return defineTool({
    name,
    description: `The tool ${name}`,
    parameters: z.object({ text: z.string().optional() }),
    execute,
    ...QUICK,
    ...policy,
  });
}

/** Writes into the ledger of the test. Returns true the first time. */
export function act({ resources, idempotencyKey }: Pick<RunContext, 'resources' | 'idempotencyKey'>, what: string): boolean {
  return ledgerIn(resources).act(idempotencyKey, what);
}

/** The ledger of the test, which tools get as a resource. */
export function ledgerIn(resources: Resources): EffectsLedger {
  return resources['ledger'] as EffectsLedger;
}

/** The line of a call that runs a cell of code, whatever its code. */
export const CELL = /^agent calls run_code/;

/** The lines of a call, such as `find {"text":"a"}`, and of its result right after it. */
export function ran(call: string, result: string, agent = 'agent'): string[] {
  return [`${agent} calls ${call}`, `${call.split(' ', 1).join('')}: ${result}`];
}
