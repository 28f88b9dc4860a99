import { z } from 'zod';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { AgentOptions } from '../../../src/define/agent-options.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { ToolPolicyOptions } from '../../../src/define/options/tool-policy-options.ts';
import type { Resources, RunContext } from '../../../src/define/run-context.ts';
import type { AnyTool } from '../../../src/define/tool-definition.ts';
import type { TerminalStatus } from '../../../src/core/domain/run/status.ts';
import {
  type EffectsLedger,
  type ExpectedLine,
  type ScriptEntry,
  scriptedModel,
  type ScriptedModelOptions,
  type TestOptions,
} from '../../../src/testing/index.ts';

/** One run that both kits play, and what has to come of it in either. */
export interface Scenario {
  /** A sentence of behaviour. */
  name: string;
  agent: AnyAgent;
  /** What the test says of the run. Called for each kit: nothing of one run gets into another. */
  options: () => TestOptions;
  /** The timeline of the run. The first line, `user: Go`, goes without saying. */
  timeline: readonly ExpectedLine[];
  status: TerminalStatus;
}

/** What a scenario says beside its name and its agent. */
export interface ScenarioParts extends Omit<Partial<TestOptions>, 'model'> {
  script: readonly ScriptEntry[];
  model?: ScriptedModelOptions;
  timeline: readonly ExpectedLine[];
  /** Default `completed`. */
  status?: TerminalStatus;
}

/** A scenario. Anything in `parts` that is not plain data must not remember anything. */
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

/** Attempts that are worth waiting for. */
export const QUICK = { backoff: { initial: 10, max: 20 } } as const;

/** A tool that takes nothing, or one text. */
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

/** Writes into the ledger of the test. True the first time. */
export function act({ resources, idempotencyKey }: Pick<RunContext, 'resources' | 'idempotencyKey'>, what: string): boolean {
  return ledgerIn(resources).act(idempotencyKey, what);
}

/** The ledger of the test, as tools find it. */
export function ledgerIn(resources: Resources): EffectsLedger {
  return resources['ledger'] as EffectsLedger;
}
