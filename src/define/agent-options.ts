import type { z } from 'zod';
import type { ModelSettings } from '../core/domain/agent/agent-snapshot.ts';
import type { Duration } from '../core/domain/run/duration.ts';
import type { JsonObject } from '../core/domain/json/json.ts';
import type { LimitOptions } from '../core/domain/agent/limit-options.ts';
import type { ModelName } from '../core/domain/agent/model-name.ts';
import type { DefaultOutput } from '../core/domain/run/run-result.ts';
import type { Instructions } from './agent-definition.ts';
import type { ApprovalDeadlineOptions } from './options/approval-options.ts';
import type { McpServerDefinition } from './mcp/mcp-definition.ts';
import type { ToolDefinition } from './tool-definition.ts';
import type { WindowOptions } from './options/window-options.ts';

/** What an agent answers: what its output schema gives, or text (or parts, where media is involved) without one. */
export type OutputFor<Output extends z.ZodType> = [Output] extends [never] ? DefaultOutput : z.output<Output>;

/** What the functions of an agent see as deps: what its deps schema gives, or any JSON object without one. */
export type DepsFor<Deps extends z.ZodType> = [Deps] extends [never] ? JsonObject : z.output<Deps>;

/** Deps as whoever starts a run gives them: what has a default may be left out. */
export type GivenDepsFor<Deps extends z.ZodType> = [Deps] extends [never] ? JsonObject : z.input<Deps>;

/** What a run leaves as its output that did not complete: text, and with a final attempt perhaps the answer of that. */
export type UnfinishedFor<Output extends z.ZodType, FinalAttempt extends boolean> = FinalAttempt extends false
  ? string
  : OutputFor<Output> | string;

/** The tools that an agent with these deps may have, whatever resources they need. */
export type ToolsFor<Deps extends z.ZodType> = readonly ToolDefinition<never, DepsFor<Deps>, unknown, never>[];

/** What an agent is made of. */
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
  /** What the model is told first. Default: a short general instruction. */
  instructions?: Instructions<DepsFor<Deps>>;
  /** The names must differ. A tool that reads deps fits only an agent whose deps have them. */
  tools?: Tools;
  /** MCP servers whose tools the agent has too, as they are when a run starts. Each has its own name. */
  mcp?: readonly McpServerDefinition[];
  /** The schema of the run's JSON data: checked when a run starts. */
  deps?: Deps;
  /** The schema of the answer. Without it the answer is text. */
  output?: Output;
  /** How the answer is obtained. Default: enforced by the provider where it can be, else by a `final_answer` tool. */
  outputMode?: 'schema' | 'final_answer';
  /** How often an answer that does not fit goes back to the model. Default 2. */
  outputRetries?: number;
  settings?: ModelSettings;
  /** How far the conversation may grow before its older part is compacted. */
  window?: WindowOptions;
  /** After the last step, ask once more for the best answer, without tools. Default false. */
  finalAttempt?: FinalAttempt;
  /** What a run may use: steps (default 10), tool calls, tokens, dollars, time. Checked before anything is paid for. */
  limits?: LimitOptions;
  /** What happens at a limit, the one of steps included: the run ends, or waits for somebody to raise it. Default `stop`. */
  onLimit?: 'stop' | 'ask';
  /**
   * How long calls, questions and limits wait for a decision where the tool does not say. Default: for as long as it
   * takes. `onDeadline: 'approve'` is for calls alone: questions and limits are rejected at their deadline in any case.
   */
  approvals?: ApprovalDeadlineOptions;
  /**
   * What becomes of a call with `effect: 'once'` of which nobody knows whether it took effect. `tell`: the model reads
   * so. `ask`: the run waits for a person who says what the call gave, within the deadline of `approvals`. Default `tell`.
   */
  onUnknownOutcome?: 'tell' | 'ask';
  /** False: the calls of one response run one after the other. Default true. */
  parallel?: boolean;
  /** How long one attempt of a model call may take. Default 10 minutes. */
  modelTimeout?: Duration;
  /** Attempts of a model call in all, the first one included. Default 8. */
  modelMaxAttempts?: number;
}
