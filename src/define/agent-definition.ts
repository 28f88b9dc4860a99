import type { z } from 'zod';
import type { ModelSettings } from '../core/domain/agent/agent-snapshot.ts';
import type { ApprovalDeadline } from '../core/domain/approvals/approval.ts';
import type { JsonObject } from '../core/domain/json/json.ts';
import type { RunLimits } from '../core/domain/agent/limits.ts';
import type { ModelName } from '../core/domain/agent/model-name.ts';
import type { DefaultOutput, RunResult } from '../core/domain/run/run-result.ts';
import type { McpServerDefinition } from './mcp/mcp-definition.ts';
import type { RequiresSomething } from './options/requires-something.ts';
import type { Resources } from './run-context.ts';
import type { AnyTool } from './tool-definition.ts';
import type { WindowOptions } from './options/window-options.ts';

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
 * An agent as `defineAgent` returns it. Its type alone carries what it answers (`Output`; `Unfinished` where the run did
 * not complete), its deps as its functions see them and as a start gives them, and the resources that its tools name:
 * `runAgent<typeof agent>`, `client.run(agent, …)` and `testAgent` infer from them.
 */
export interface AgentDefinition<Output = unknown, Deps = never, GivenDeps = Deps, Needed = never, Unfinished = Output | string> {
  readonly kind: 'longhaul.agent';
  readonly name: string;
  /** `provider/model`, split at the first slash only. */
  readonly model: ModelName;
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
  readonly [GIVEN_DEPS]?: (deps: GivenDeps) => void;
  readonly [RESOURCES]?: (resources: Needed) => void;
  readonly [UNFINISHED]?: Unfinished;
}

/** Never present at run time: they carry the types. */
declare const OUTPUT: unique symbol;
declare const DEPS: unique symbol;
declare const GIVEN_DEPS: unique symbol;
declare const RESOURCES: unique symbol;
declare const UNFINISHED: unique symbol;

/** An agent of any types, as registries hold it. */
export type AnyAgent = AgentDefinition<unknown, never, never, never, unknown>;

/** The type of an agent's output. */
export type OutputOf<Agent> = Agent extends AgentDefinition<infer Output, never, never, never, unknown> ? Output : never;

/** The type of an agent's deps, as its instructions and tools see them. */
export type DepsOf<Agent> = Agent extends AgentDefinition<unknown, infer Deps, never, never, unknown> ? Deps : never;

/** The type of an agent's deps as a start gives them: what has a default may be left out. Unknown for what is no agent of a known type. */
export type GivenDepsOf<Agent> =
  Agent extends AgentDefinition<unknown, never, infer Given, never, unknown> ? ([Given] extends [never] ? unknown : Given) : unknown;

/** The resources that the tools of an agent name in the type of their context. */
export type ResourcesOf<Agent> =
  Agent extends AgentDefinition<unknown, never, never, infer Needed, unknown> ? ([Needed] extends [never] ? Resources : Needed) : Resources;

/** What a run of the agent leaves as its output where it did not complete. */
export type UnfinishedOf<Agent> = Agent extends AgentDefinition<unknown, never, never, never, infer Unfinished> ? Unfinished : never;

/** The result of a run of the agent. */
export type ResultOf<Agent> = Agent extends AnyAgent ? RunResult<OutputOf<Agent>, UnfinishedOf<Agent>> : RunResult<DefaultOutput>;

/** The option `deps` of a start: to be given exactly where the schema of the agent requires something. */
export type DepsOption<Given> = unknown extends Given
  ? { /** Run-scoped JSON data: user id, session, preferences. */ deps?: unknown }
  : RequiresSomething<Given> extends true
    ? { /** Run-scoped JSON data: user id, session, preferences. */ deps: Given }
    : { /** Run-scoped JSON data: user id, session, preferences. */ deps?: Given };
