import type { z } from 'zod';
import type { ModelSettings } from '../domain/agent-snapshot.ts';
import type { ApprovalDeadline } from '../domain/approval.ts';
import type { JsonObject } from '../domain/json.ts';
import type { RunLimits } from '../domain/limits.ts';
import type { McpServerDefinition } from './mcp-definition.ts';
import type { AnyTool } from './tool-definition.ts';
import type { WindowOptions } from './window-options.ts';

/** Instructions: text, several texts (each becomes a system message), or a function of the run's deps, called once per run in an activity. */
export type Instructions<Deps> =
  | string
  | readonly string[]
  | ((deps: Deps) => string | readonly string[] | Promise<string | readonly string[]>);

/** How an agent obtains a structured answer. */
export interface OutputDefinition {
  readonly zod: z.ZodType;
  readonly schema: JsonObject;
  readonly providerSchema: JsonObject;
  readonly strict: boolean;
  /** Why `providerSchema` is not in the provider's strict subset, where it is not. */
  readonly strictProblem?: string;
  /** Undefined: the provider's capability decides. */
  readonly mode: 'schema' | 'final_answer' | undefined;
  readonly maxRetries: number;
}

/**
 * An agent as `defineAgent` returns it. `Output` and `Deps` are carried by the type alone:
 * `runAgent<typeof agent>` and `client.run(agent, …)` infer from them.
 */
export interface AgentDefinition<Output = unknown, Deps = never> {
  readonly kind: 'longhaul.agent';
  readonly name: string;
  /** `provider/model`, split at the first slash only. */
  readonly model: string;
  readonly instructions: Instructions<Deps>;
  readonly tools: readonly AnyTool[];
  /** Servers whose tools it has too. Absent: none. */
  readonly mcp?: readonly McpServerDefinition[];
  readonly deps?: z.ZodType;
  /** The JSON Schema of deps as they are given: what an update is checked against. */
  readonly depsSchema?: JsonObject;
  /** What becomes of a call of which nobody knows whether it took effect. */
  readonly onUnknownOutcome: 'tell' | 'ask';
  readonly output?: OutputDefinition;
  readonly settings: ModelSettings;
  readonly window: WindowOptions;
  readonly limits: RunLimits;
  /** The deadline of what waits for a decision where the tool does not say. */
  readonly approvals?: ApprovalDeadline;
  readonly parallel: boolean;
  readonly modelTimeoutMs: number;
  readonly modelMaxAttempts: number;
  readonly [OUTPUT]?: Output;
  readonly [DEPS]?: (deps: Deps) => void;
}

/** Never present at run time: they carry the types. */
declare const OUTPUT: unique symbol;
declare const DEPS: unique symbol;

/** An agent of any types, as registries hold it. */
export type AnyAgent = AgentDefinition<unknown, never>;

/** The type of an agent's output. */
export type OutputOf<Agent> = Agent extends AgentDefinition<infer Output, never> ? Output : never;

/** The type of an agent's deps. */
export type DepsOf<Agent> = Agent extends AgentDefinition<unknown, infer Deps> ? Deps : never;
