import type { SkillSource } from './skills/skill-sources.ts';
import type { z } from 'zod';
import type { FlowPolicy, MemoryPolicy, ModelSettings, ReplyFormat } from '../core/domain/agent.ts';
import type { ApprovalDeadline } from '../core/domain/approvals.ts';
import type { JsonObject } from '../core/domain/json.ts';
import type { ChildrenOptions, RunLimits } from '../core/domain/limits.ts';
import type { ModelName } from '../core/domain/model.ts';
import type { Permissions } from '../core/domain/permissions.ts';
import type { DefaultOutput, RunResult } from '../core/domain/result.ts';
import type { AnyGuardrail } from './guardrails/guardrail-definition.ts';
import type { AnyHook } from './hooks/hook-definition.ts';
import type { CodeDefinition } from './code/executor-definition.ts';
import type { McpServerDefinition } from './mcp/mcp-definition.ts';
import type { RequiresSomething } from './options/requires-something.ts';
import type { Resources } from './context/run-context.ts';
import type { AnyTool } from './tools/tool-definition.ts';
import type { WindowOptions } from './options/window-options.ts';

/** Instructions: text, several texts (each becomes a system message), or a function of the run's deps, called once per run in an activity. */
export type Instructions<Deps> =
  | string
  | readonly string[]
  | ((deps: Deps) => string | readonly string[] | Promise<string | readonly string[]>);

/** The structured answer of an agent, checked. */
export interface OutputDefinition {
  readonly zod: z.ZodType;
  readonly schema: JsonObject;
  readonly providerSchema: JsonObject;
  readonly strict: boolean;
  /** The reason why `providerSchema` is not in the provider's strict subset. */
  readonly strictProblem?: string;
  /** Undefined: the provider's capability decides. */
  readonly mode: 'schema' | 'final_answer' | undefined;
  readonly maxRetries: number;
}

/**
 * An agent as `defineAgent` returns it. Its type carries the types of its answer (`Output`; `Unfinished` if the run did not
 * complete), of its deps as its functions receive them and as a start takes them, and of the resources that its tools name:
 * `runAgent<typeof agent>`, `client.run(agent, …)` and `testAgent` infer from them.
 */
export interface AgentDefinition<Output = unknown, Deps = never, GivenDeps = Deps, Needed = never, Unfinished = Output | string> {
  readonly kind: 'longhaul.agent';
  readonly name: string;
  /** `provider/model`, split at the first slash only. */
  readonly model: ModelName;
  readonly instructions: Instructions<Deps>;
  readonly tools: readonly AnyTool[];
  /** MCP servers whose tools it also has. Absent: none. */
  readonly mcp?: readonly McpServerDefinition[];
  readonly deps?: z.ZodType;
  /** The JSON Schema of the deps that a start takes: updates are checked against it. */
  readonly depsSchema?: JsonObject;
  /** The action for a call whose outcome is unknown. */
  readonly onUnknownOutcome: 'tell' | 'ask';
  readonly output?: OutputDefinition;
  /** The way in which it runs code. Absent: it runs none. */
  readonly code?: CodeDefinition;
  /** The form of the model's answers. Absent: text and tool calls. */
  readonly replyFormat?: ReplyFormat;
  /** Describes it to the models that may hand over to it. */
  readonly description?: string;
  /** The agents that it may hand a run over to. Absent: none. */
  readonly handoffs?: readonly HandoffTarget[];
  /** The folders of its skills. Absent: none. */
  readonly skills?: readonly SkillSource[];
  /** The way in which it uses the memory of its worker. Absent: it does not. */
  readonly memory?: MemoryPolicy;
  /** The most handoffs of a run that begins with it. Absent: 10. */
  readonly maxHandoffs?: number;
  /** The order of agents, if it is a flow: made by `defineFlow`. */
  readonly flow?: FlowPolicy;
  /** The agents of a flow. */
  readonly flowAgents?: readonly AnyAgent[];
  readonly settings: ModelSettings;
  readonly window: WindowOptions;
  readonly limits: RunLimits;
  /** The limits of the runs that its tools start. Absent: the defaults. */
  readonly children?: ChildrenOptions;
  /** The deadline of decisions if the tool does not set one. */
  readonly approvals?: ApprovalDeadline;
  /** The rules for the calls of its tools. Absent: all may run. */
  readonly permissions?: Permissions;
  /** Its guardrails. Absent: none. */
  readonly guardrails?: readonly AnyGuardrail[];
  /** Its hooks. Absent: none. */
  readonly hooks?: readonly AnyHook[];
  readonly parallel: boolean;
  readonly modelTimeoutMs: number;
  readonly modelMaxAttempts: number;
  /** Absent: the default. */
  readonly modelPatienceMs?: number;
  readonly [OUTPUT]?: Output;
  readonly [DEPS]?: (deps: Deps) => void;
  readonly [GIVEN_DEPS]?: (deps: GivenDeps) => void;
  readonly [RESOURCES]?: (resources: Needed) => void;
  readonly [UNFINISHED]?: Unfinished;
}

/** Keys that are never present at run time: they carry the types. */
declare const OUTPUT: unique symbol;
declare const DEPS: unique symbol;
declare const GIVEN_DEPS: unique symbol;
declare const RESOURCES: unique symbol;
declare const UNFINISHED: unique symbol;

/** An agent that another one may hand a run over to. */
export interface HandoffTarget {
  readonly name: string;
  /** Absent if it was given by its name. */
  readonly agent?: AnyAgent;
}

/** An agent of any types, as registries hold it. */
export type AnyAgent = AgentDefinition<unknown, never, never, never, unknown>;

/** The type of an agent's output. */
export type OutputOf<Agent> = Agent extends AgentDefinition<infer Output, never, never, never, unknown> ? Output : never;

/** The type of an agent's deps, as its instructions and tools see them. */
export type DepsOf<Agent> = Agent extends AgentDefinition<unknown, infer Deps, never, never, unknown> ? Deps : never;

/** The type of an agent's deps as a start takes them: fields with a default may be left out. Unknown for a type that is not a specific agent. */
export type GivenDepsOf<Agent> =
  Agent extends AgentDefinition<unknown, never, infer Given, never, unknown> ? ([Given] extends [never] ? unknown : Given) : unknown;

/** The resources that the tools of an agent name in the type of their context. */
export type ResourcesOf<Agent> =
  Agent extends AgentDefinition<unknown, never, never, infer Needed, unknown> ? ([Needed] extends [never] ? Resources : Needed) : Resources;

/** The type of the output of a run that did not complete. */
export type UnfinishedOf<Agent> = Agent extends AgentDefinition<unknown, never, never, never, infer Unfinished> ? Unfinished : never;

/** The result of a run of the agent. */
export type ResultOf<Agent> = Agent extends AnyAgent ? RunResult<OutputOf<Agent>, UnfinishedOf<Agent>> : RunResult<DefaultOutput>;

/** The option `deps` of a start: required exactly if the schema of the agent requires a field. */
export type DepsOption<Given> = unknown extends Given
  ? { /** Run-scoped JSON data: user id, session, preferences. */ deps?: unknown }
  : RequiresSomething<Given> extends true
    ? { /** Run-scoped JSON data: user id, session, preferences. */ deps: Given }
    : { /** Run-scoped JSON data: user id, session, preferences. */ deps?: Given };
