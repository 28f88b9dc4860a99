import type { SkillsOption } from './skills/skill-sources.ts';
import type { AnyGuardrail } from './guardrails/guardrail-definition.ts';
import type { AnyHook } from './hooks/hook-definition.ts';
import type { z } from 'zod';
import type { MemoryOptions } from './options/memory-option.ts';
import type { ModelSettings, ReplyFormat } from '../core/domain/agent.ts';
import type { Duration } from '../core/domain/time.ts';
import type { JsonObject } from '../core/domain/json.ts';
import type { PermissionOptions } from './permissions/permissions-option.ts';
import type { ChildrenOptions, LimitOptions } from '../core/domain/limits.ts';
import type { ModelName } from '../core/domain/model.ts';
import type { DefaultOutput } from '../core/domain/result.ts';
import type { Instructions } from './agent-definition.ts';
import type { CodeOptions } from './code/code-option.ts';
import type { ApprovalDeadlineOptions } from './options/approval-options.ts';
import type { HandoffOption } from './handoffs/handoff-options.ts';
import type { McpServerDefinition } from './mcp/mcp-definition.ts';
import type { ToolDefinition } from './tools/tool-definition.ts';
import type { WindowOptions } from './options/window-options.ts';

/** The type of an agent's answer: the output of its output schema, or text (or parts, if it has media) without one. */
export type OutputFor<Output extends z.ZodType> = [Output] extends [never] ? DefaultOutput : z.output<Output>;

/** The type of deps that the functions of an agent receive: the output of its deps schema, or any JSON object without one. */
export type DepsFor<Deps extends z.ZodType> = [Deps] extends [never] ? JsonObject : z.output<Deps>;

/** The type of deps that a start takes: fields with a default may be left out. */
export type GivenDepsFor<Deps extends z.ZodType> = [Deps] extends [never] ? JsonObject : z.input<Deps>;

/** The type of the output of a run that did not complete: text, and with a final attempt possibly the answer of that attempt. */
export type UnfinishedFor<Output extends z.ZodType, FinalAttempt extends boolean> = FinalAttempt extends false
  ? string
  : OutputFor<Output> | string;

/** The tools that an agent with these deps may have, with any resources. */
export type ToolsFor<Deps extends z.ZodType> = readonly ToolDefinition<never, DepsFor<Deps>, unknown, never>[];

/** The options of `defineAgent`. */
export interface AgentOptions<
  Output extends z.ZodType,
  Deps extends z.ZodType,
  Tools extends ToolsFor<Deps> = ToolsFor<Deps>,
  FinalAttempt extends boolean = boolean,
> {
  /** Names the agent for clients, events and the Temporal UI. */
  name: string;
  /** `provider/model`, split at the first slash: the provider is a name of the worker's `providers`. */
  model: ModelName;
  /** The instructions, which the model reads first. Default: a short general instruction. */
  instructions?: Instructions<DepsFor<Deps>>;
  /** The tools of the agent, with different names. A tool that reads deps fits only an agent whose deps have them. */
  tools?: Tools;
  /** MCP servers whose tools the agent also has, as they are when a run starts. Each has its own name. */
  mcp?: readonly McpServerDefinition[];
  /** The schema of the run's JSON data, which is checked when a run starts. */
  deps?: Deps;
  /** The schema of the answer. Without it the answer is text. */
  output?: Output;
  /** The way to obtain the answer. Default: enforced by the provider if possible, else by a `final_answer` tool. */
  outputMode?: 'schema' | 'final_answer';
  /** The number of times that an invalid answer goes back to the model. Default 2. */
  outputRetries?: number;
  /**
   * Lets the model run code that calls the agent's tools: it has the tool `run_code`. The code runs isolated, each call in it is
   * recorded and may wait for a decision like any other, and its variables stay until the run ends.
   */
  code?: CodeOptions<DepsFor<Deps>>;
  /**
   * The form of the model's answers, for models without tool calls. `code`: one block of code, which `code` must be able to run.
   * `json`: an object with `tool` and `arguments`, or with `answer`. Default: text and tool calls.
   */
  replyFormat?: ReplyFormat;
  /** Describes the agent to the models of other agents, which choose by it. */
  description?: string;
  /**
   * The agents that it may hand a run over to: it has the tool `transfer_to_agent`, and the agent that takes over goes on with the same
   * conversation. An agent, or its name if two agents hand over to each other. The worker must have all of them.
   */
  handoffs?: HandoffOption;
  /**
   * Folders with a `SKILL.md`, and folders of such folders: each request has the names and descriptions of the skills, and the model reads
   * the rest with `load_skill` and `read_skill_file`. The worker reads them when it starts.
   */
  skills?: SkillsOption;
  /**
   * A memory that outlasts the run, one for each tenant and user: the first model call of a run is given the entries that fit the message,
   * and the model has the tools `remember`, `recall` and `forget`. The worker must have a `memory`. Default: none.
   */
  memory?: boolean | MemoryOptions;
  /** The most handoffs of a run that begins with the agent. Default 10. */
  maxHandoffs?: number;
  settings?: ModelSettings;
  /** The size to which the conversation may grow before its older part is compacted. */
  window?: WindowOptions;
  /** True to call the model once more after the last step for its best answer, without tools. Default false. */
  finalAttempt?: FinalAttempt;
  /** The limits of a run: steps (default 10; with `replyFormat: 'code'` the `maxSteps` of the executor), tool calls, tokens, dollars, time. Checked before each call. */
  limits?: LimitOptions;
  /** The limits of the runs that tools made with `agentTool` start: how deep, how many alive, how many in all. Below, limits only narrow. */
  children?: ChildrenOptions;
  /** The action at a limit, including that of steps: the run ends, or waits for a person to raise the limit. Default `stop`. */
  onLimit?: 'stop' | 'ask';
  /**
   * The time that calls, questions and limits wait for a decision if the tool does not set it. Default: unlimited.
   * `onDeadline: 'approve'` is for calls alone: questions and limits are rejected at their deadline in any case.
   */
  approvals?: ApprovalDeadlineOptions;
  /** The rules for the calls of tools: which are denied, and which wait for a decision. Default: all calls may run. */
  permissions?: PermissionOptions;
  /** Checks of messages to the agent, of its answers, and of its tool calls. Made by `defineGuardrail`, or by one of the prebuilt ones. */
  guardrails?: readonly AnyGuardrail[];
  /** The hooks of its runs. A worker may have hooks for all its agents, too, which are called first if the priority is the same. */
  hooks?: readonly AnyHook[];
  /**
   * The action for a call with `effect: 'once'` whose outcome is unknown. `tell`: the model reads that it is unknown. `ask`:
   * the run waits for a person to enter the result of the call, within the deadline of `approvals`. Default `tell`.
   */
  onUnknownOutcome?: 'tell' | 'ask';
  /** False to run the calls of one response one after the other. Default true. */
  parallel?: boolean;
  /** The time limit of one attempt of a model call. Default 10 minutes. */
  modelTimeout?: Duration;
  /**
   * The number of attempts of a model call, the first one included. Attempts that the provider refuses (429, 5xx) do not count: they are
   * bounded by `modelPatience`. Default 8.
   */
  modelMaxAttempts?: number;
  /**
   * The time from the first attempt of a model call for which it is tried again while the provider refuses it (429, 5xx, overloaded).
   * A provider that asks for a longer wait ends the call at once. With 0, such attempts count as any others. At most 5 days. Default
   * 10 minutes.
   */
  modelPatience?: Duration;
}
