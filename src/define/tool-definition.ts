import type { z } from 'zod';
import type { ToolCaller, ToolPolicy } from '../core/domain/agent.ts';
import type { ContentPart } from '../core/domain/content.ts';
import type { SecretReference } from '../core/domain/deps.ts';
import { memberOf } from '../core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../core/domain/json.ts';
import type { LimitChanges } from '../core/domain/limits.ts';
import type { ToolApproval } from './approvals.ts';
import type { Resources, RunContext } from './context.ts';
import type { Overflow, RetryOn, Verify } from './tool-policy.ts';
import type { ToolCategory } from '../core/domain/tool-categories.ts';

/**
 * A tool as `defineTool` returns it: checked, with its schemas converted. The type parameters are the arguments and the
 * result of `execute`; without them the tool fits every agent, because it needs no deps of its own.
 */
export interface ToolDefinition<
  Args = never,
  Deps = Record<string, unknown>,
  Result = unknown,
  Needed = Resources,
  Name extends string = string,
> {
  /** Tells it apart from other definitions. */
  readonly kind: 'longhaul.tool';
  /** The name that the model calls. */
  readonly name: Name;
  /** What the model reads about the tool: what it does, and when to call it. */
  readonly description: string;
  /** The text that the summaries of its calls begin with. Absent: they begin with the arguments. */
  readonly label?: string;
  /** The version that records and lists show. Absent: it has none. */
  readonly version?: string;
  /** The capability that it comes from. Absent: it belongs to its agent. */
  readonly capability?: string;
  /** The full zod schema: applied to the arguments by the tool's activity before it acts. */
  readonly parameters: z.ZodType;
  /** The zod schema of the value that `execute` returns, if the tool declares one. */
  readonly result?: z.ZodType;
  /** The JSON Schema of the parameters: arguments are checked against it before the activity. */
  readonly schema: JsonObject;
  /** The schema that is sent to the provider. */
  readonly providerSchema: JsonObject;
  /** True if `providerSchema` is in the provider's strict subset. */
  readonly strict: boolean;
  /** The reason why it is not. */
  readonly strictProblem?: string;
  /** False: its calls never overlap with another call of the same answer. */
  readonly parallel: boolean;
  /** What its calls change of deps and state: true for anything, a list of keys, false for nothing. Absent: not known. */
  readonly updates?: boolean | readonly string[];
  /** The timeouts, retries and bounds of its calls. */
  readonly policy: ToolPolicy;
  /** Looks up the outcome of a call. */
  readonly verify?: Verify<Deps, Needed>;
  /** The thrown errors that are retried. */
  readonly retryOn: RetryOn;
  /** True if results may change the deps with a reserved key. */
  readonly legacyUpdates?: true;
  /** The names of the worker's resources that it uses. Absent: all that are open. */
  readonly resources?: readonly string[];
  /** Bytes of JSON that one result may have in the conversation. */
  readonly maxResultBytes: number;
  /** What happens to a result that is too large. */
  readonly overflow: Overflow;
  /** The approval rule of its calls. Absent: they never wait. */
  readonly approval?: ToolApproval<Args, Deps, Needed>;
  /** The JSON Schema of the answer, if the tool is a question to a person (`askHuman`): such a tool never runs. */
  readonly answer?: JsonObject;
  /** The callers that may call it. Absent: the model and code. */
  readonly callers?: readonly ToolCaller[];
  /** The kind of effect that it has. Absent: not known. */
  readonly category?: ToolCategory;
  /** True if the tool is a schema alone (`execute: 'none'`): such a tool never runs. */
  readonly notExecutable?: true;
  /** The agent that it runs (`agentTool`): each call is a run of its own. */
  readonly agent?: AgentToolDefinition;
  /** Returns any JSON value, nothing, a `ToolOutput`, or one of them with an update of the deps. If its last attempt throws, the model gets an error result. */
  readonly execute: (args: Args, context: RunContext<Deps, Needed>) => Result;
}

/** A tool with any deps and resources, as registries hold it. */
export type AnyTool = ToolDefinition<never, never, unknown, never>;

/** The names of tools, as far as the types know them: what an editor proposes where a tool is named. */
export type NamesOfTools<Tools extends readonly { readonly name: string }[]> = Tools[number] extends infer Tool
  ? Tool extends { readonly name: infer Name extends string }
    ? string extends Name
      ? never
      : Name
    : never
  : never;

/** The agent of a tool that `agentTool` returned. */
export interface AgentToolDefinition {
  /** The name of the agent. */
  readonly name: string;
  /** The agent itself; absent if the tool names one of the worker. */
  readonly definition?: { readonly kind: 'longhaul.agent'; readonly name: string };
  /** The fields of the deps that the agent gets. */
  readonly share: readonly string[];
  /** The limits of one run of it. */
  readonly limits?: LimitChanges;
  /** Its result is that of the run. */
  readonly final?: true;
  /** It is an agent of a parallel flow. */
  readonly branch?: true;
  /** It is kept between the calls, as a session. */
  readonly kept?: true;
  /** The tool has the parameter `request` alone. */
  readonly request?: true;
}

/** A value for the server: a text that is not secret, or a secret of the worker by its name. */
export type McpValue = string | SecretReference;

/** The transport of a server, checked. */
export type McpTransport =
  | {
      readonly type: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, McpValue>>;
      readonly cwd?: string;
    }
  | {
      readonly type: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, McpValue>>;
      /** The protocol, if it is not to be found out. */
      readonly protocol?: 'http' | 'sse';
    };

/** One call for an approval predicate: the tool by the name that its server uses. */
export interface McpCallInfo {
  /** The name of the tool at its server. */
  readonly tool: string;
  /** The arguments of the call. */
  readonly args: JsonObject;
}

/** The effect of a call: `idempotent` if it may run a second time. */
export type McpEffect = 'idempotent' | 'once';

/** An MCP server as `mcpServer` returns it: checked. */
export interface McpServerDefinition {
  /** Tells it apart from other definitions. */
  readonly kind: 'longhaul.mcp_server';
  /** The name of the server, by which errors and records name it. */
  readonly name: string;
  /** The capability that it comes from. Absent: it belongs to its agent. */
  readonly capability?: string;
  /** How the server is reached: as a process of the worker, or by HTTP. */
  readonly transport: McpTransport;
  /** The tools to use. Absent: all. */
  readonly include?: readonly string[];
  /** Tools of the server that the agent does not get. */
  readonly exclude: readonly string[];
  /** The approval rule of its calls. Absent: they never wait. */
  readonly approval?: ToolApproval<McpCallInfo, JsonObject>;
  /** The policies of calls, by effect. */
  readonly policies: Readonly<Record<McpEffect, ToolPolicy>>;
  /** Returns the effect of a tool; undefined if the server's annotations decide. */
  readonly effectOf: (tool: string) => McpEffect | undefined;
  /** Returns the callers of a tool; undefined if the model and code may call it. */
  readonly callersOf: (tool: string) => readonly ToolCaller[] | undefined;
  /** Bytes of JSON that one result may have in the conversation. */
  readonly maxResultBytes: number;
  /** What happens to a result that is too large. */
  readonly overflow: Overflow;
  /** The text before the names of its tools, separated by `_`. Absent: the name of the server, and only where names would clash. */
  readonly prefix?: string;
  /** Milliseconds after which an unused connection is closed. */
  readonly idleTimeoutMs: number;
}

/** The return value of a tool with several blocks, or with a failure that the tool has noticed itself. Made by `toolOutput`. */
export interface ToolOutput {
  /** Tells it apart from a plain result. */
  readonly kind: 'longhaul.tool_output';
  /** The blocks that the model reads: texts, media parts, any JSON values. */
  readonly content: readonly (JsonValue | ContentPart)[];
  /** True if the model is to read it as an error. */
  readonly isError: boolean;
}

/**
 * Returns a tool's result in several blocks: texts (joined by line breaks), media parts, any JSON values. With
 * `{isError: true}` the model reads it as a failure, without an exception.
 */
export function toolOutput(content: string | readonly (JsonValue | ContentPart)[], options: { isError?: boolean } = {}): ToolOutput {
  return { kind: 'longhaul.tool_output', content: typeof content === 'string' ? [content] : content, isError: options.isError === true };
}

/** True for a value made by `toolOutput`, of any copy of this package. */
export function isToolOutput(value: unknown): value is ToolOutput {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'longhaul.tool_output';
}

/**
 * Thrown by a tool that asks the model to try again in another way: the model reads the message as an error result. A tool
 * may ask `modelRetries` times in a row; after that the result says that no retries are left.
 */
export class ModelRetry extends Error {
  /** The name of the class, which is equal in all copies of the package. */
  override readonly name = 'ModelRetry';
  /** Tells it apart in all copies of the package. */
  readonly kind = 'longhaul.model_retry';
}

/** Thrown by a tool whose failure is final: it is not tried again, and the model reads the message as an error result. */
export class ToolFailure extends Error {
  /** The name of the class, which is equal in all copies of the package. */
  override readonly name = 'ToolFailure';
  /** Tells it apart in all copies of the package. */
  readonly kind = 'longhaul.tool_failure';
}

/** True for a `ModelRetry` of any copy of this package. */
export function isModelRetry(error: unknown): error is ModelRetry {
  return failureKind(error) === 'longhaul.model_retry';
}

/** True for a `ToolFailure` of any copy of this package. */
export function isToolFailure(error: unknown): error is ToolFailure {
  return failureKind(error) === 'longhaul.tool_failure';
}

function failureKind(error: unknown): unknown {
  return memberOf(error, 'kind');
}
