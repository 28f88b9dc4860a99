import { shownValue } from '../core/domain/text.ts';
import type { z } from 'zod';
import { type Backoff, DEFAULT_POLICY, MAX_LOCAL_TIMEOUT_MS, type ToolCaller, type ToolPolicy } from '../core/domain/agent.ts';
import { BYTE_BUDGETS, jsonBytes } from '../core/domain/byte-budgets.ts';
import type { ContentPart, HostedTool } from '../core/domain/content.ts';
import type { SecretReference } from '../core/domain/deps.ts';
import { memberOf, UsageError } from '../core/domain/errors.ts';
import { defined, isJsonObject, isTooDeep, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { LimitChanges } from '../core/domain/limits.ts';
import { type Duration, milliseconds, timerMilliseconds } from '../core/domain/time.ts';
import type { ToolCategory } from '../core/domain/tool-categories.ts';
import type { ToolApproval } from './approvals.ts';
import type { Resources, RunContext } from './context.ts';
import { nonEmpty, type OptionTable, requireKnown, wholeNumber } from './option-checks.ts';

/**
 * A tool as `defineTool` returns it: checked, with its schemas converted. Its type carries the arguments, deps and result of `execute`,
 * the resources that it needs, and its name. Without type parameters it needs no particular deps, and so fits every agent.
 */
export interface ToolDefinition<
  Args = never,
  Deps = Record<string, unknown>,
  Result = unknown,
  Needed = Resources,
  Name extends string = string,
> {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.tool';
  /** The name that the model calls. */
  readonly name: Name;
  /** What the model reads about the tool: what it does, and when to call it. */
  readonly description: string;
  /** The text at the start of its call summaries. Absent: they start with the arguments. */
  readonly label?: string;
  /** The version in records and lists. Absent: it has none. */
  readonly version?: string;
  /** The capability that it comes from. Absent: it belongs to its agent. */
  readonly capability?: string;
  /** The full zod schema: applied to the arguments by the tool's activity before it acts. */
  readonly parameters: z.ZodType;
  /** The zod schema of the value that `execute` returns, if the tool declares one. */
  readonly result?: z.ZodType;
  /** The JSON Schema of the parameters: arguments are checked against it before the activity. */
  readonly schema: JsonObject;
  /** True if parsing with `parameters` may change arguments: defaults, trimmed texts. */
  readonly changesArguments?: true;
  /** The schema that is sent to the provider. */
  readonly providerSchema: JsonObject;
  /** True if `providerSchema` is in the provider's strict subset. */
  readonly strict: boolean;
  /** Why it is not. */
  readonly strictProblem?: string;
  /** False: its calls never overlap with another call of the same answer. */
  readonly parallel: boolean;
  /** The keys of deps and state that its calls change: true for any, false for none. Absent: not known. */
  readonly updates?: boolean | readonly string[];
  /** The timeouts, retries and bounds of its calls. */
  readonly policy: ToolPolicy;
  /** Looks up the outcome of a call. */
  readonly verify?: Verify<Deps, Needed>;
  /** The thrown errors that are retried. */
  readonly retryOn: RetryOn;
  /** True if results may change the deps with a reserved key. */
  readonly legacyUpdates?: true;
  /** The names of the worker's resources that it uses. Absent: all open ones. */
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
  /** True if the tool is only a schema (`execute: 'none'`): such a tool never runs. */
  readonly notExecutable?: true;
  /** The agent that it runs (`agentTool`): each call is a separate run. */
  readonly agent?: AgentToolDefinition;
  /** Returns any JSON value, nothing, a `ToolOutput`, one of them with an update of the deps, or an iterator whose last value is one. If its last attempt throws, the model gets an error result. */
  readonly execute: (args: Args, context: RunContext<Deps, Needed>) => Result;
}

/** A tool with any deps and resources, as registries hold it. */
export type AnyTool = ToolDefinition<never, never, unknown, never>;

/** The names of tools, as far as the types know them, for an editor to suggest. */
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
  /** The agent itself. Absent if the tool refers to an agent of the worker by name. */
  readonly definition?: { readonly kind: 'longhaul.agent'; readonly name: string };
  /** The fields of the deps that the agent gets. */
  readonly share: readonly string[];
  /** The limits of one run of the agent. */
  readonly limits?: LimitChanges;
  /** Its result becomes the result of the run. */
  readonly final?: true;
  /** The agent belongs to a parallel flow. */
  readonly branch?: true;
  /** The agent is kept between calls, as a session. */
  readonly kept?: true;
  /** The tool has only the parameter `request`. */
  readonly request?: true;
}

/** A header or variable for the server: a text that is not secret, or a reference to a secret of the worker. */
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
      /** The protocol. Absent: it is detected. */
      readonly protocol?: 'http' | 'sse';
    };

/** One call, as an approval predicate gets it. The tool has the server's own name. */
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
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.mcp_server';
  /** The name of the server in errors and records. */
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
  /** The prefix of its tools' names, followed by `_`. Absent: the server's name, only where names would clash. */
  readonly prefix?: string;
  /** Milliseconds after which an unused connection is closed. */
  readonly idleTimeoutMs: number;
}

/** The return value of a tool with several blocks, or with a failure that the tool detected itself. Made by `toolOutput`. */
export interface ToolOutput {
  /** Distinguishes it from a plain result. */
  readonly kind: 'longhaul.tool_output';
  /** The blocks that the model reads: texts, media parts, any JSON values. */
  readonly content: readonly (JsonValue | ContentPart)[];
  /** True if the model should read it as an error. */
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
  /** Identifies the error in all copies of the package. */
  readonly kind = 'longhaul.model_retry';
}

/** Thrown by a tool whose failure is final: it is not tried again, and the model reads the message as an error result. */
export class ToolFailure extends Error {
  /** The name of the class, which is equal in all copies of the package. */
  override readonly name = 'ToolFailure';
  /** Identifies the error in all copies of the package. */
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

/** A hosted tool as `hosted` returns it: checked. */
export interface HostedToolDefinition extends Readonly<HostedTool> {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.hosted_tool';
  /** The capability that it comes from. Absent: it belongs to its agent. */
  readonly capability?: string;
}

/** The most bytes of the options, which are part of every request. */
const MOST_ARGS_BYTES = 16_000;

/**
 * Makes a tool that the model's provider runs, such as a web search, for `tools` of `defineAgent`. The id consists of the provider and
 * the provider's name for the tool; the options are passed on unchanged. Throws a `UsageError` for an invalid id or invalid options.
 *
 * @example
 * defineAgent({ name: 'scout', model: 'anthropic/claude-sonnet-4-5', tools: [hosted('anthropic.web_search_20250305', { maxUses: 3 })] });
 */
export function hosted(id: string, args: JsonObject = {}): HostedToolDefinition {
  const [, name] = /^[a-z][a-z0-9-]{0,63}\.([A-Za-z][A-Za-z0-9_-]{0,63})$/.exec(id) ?? [];
  if (name === undefined) {
    throw new UsageError(
      `hosted: ${JSON.stringify(id)} is not the id of a hosted tool: write the provider and its tool, such as "anthropic.web_search_20250305"`,
    );
  }
  const problem = argsProblem(args);
  if (problem !== undefined) throw new UsageError(`hosted tool "${id}": the options ${problem}`);
  // Rules and people name a tool without its version.
  return { kind: 'longhaul.hosted_tool', id, name: name.replace(/_\d{8}$/, ''), args };
}

function argsProblem(args: unknown): string | undefined {
  if (!isJsonObject(args)) return 'are not an object';
  if (isTooDeep(args)) return 'are nested too deep';
  const wrong = Object.entries(args).find(([, value]) => !isJson(value));
  if (wrong !== undefined) return `have a value that is not JSON: "${wrong[0]}"`;
  const bytes = jsonBytes(args);
  return bytes > MOST_ARGS_BYTES ? `have ${bytes} bytes of JSON, over ${MOST_ARGS_BYTES}` : undefined;
}

function isJson(value: unknown): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  return isJsonObject(value) && Object.values(value).every(isJson);
}

/** True for a hosted tool among the tools of an agent. */
export function isHostedTool(tool: { readonly kind: string }): tool is HostedToolDefinition {
  return tool.kind === 'longhaul.hosted_tool';
}

/** The waits between attempts. */
export interface BackoffOptions {
  /** The wait before the second attempt. Default 1 second; 50 milliseconds for a local tool. */
  initial?: Duration;
  /** The ratio of each wait to the previous one. Default 2. */
  factor?: number;
  /** The longest wait. Default 1 minute; 1 second for a local tool. */
  max?: Duration;
}

/** The thrown errors that are retried. A function is called with each error that `execute` throws. */
export type RetryOn = 'any' | 'none' | ((error: unknown) => boolean);

/** The answer of `verify` about a call whose outcome is unknown. */
export type VerifiedOutcome<Result = unknown> =
  /** The call took effect, and `result` is what `execute` would have returned. */
  | { happened: true; result: Result }
  /** The call did not take effect, and never will. */
  | { happened: false };

/** Looks up the outcome of a call by its idempotency key. If it throws, it is retried; after the last attempt the outcome stays unknown. */
export type Verify<Deps, Needed = Resources> = (
  idempotencyKey: string,
  context: RunContext<Deps, Needed>,
) => VerifiedOutcome | Promise<VerifiedOutcome>;

/** The tool options for the execution of its calls. */
export interface ToolPolicyOptions<Deps, Needed = Resources> {
  /**
   * `idempotent`: a call may run again, always with the same `idempotencyKey`. `once`: a call that may have started is never
   * started again; if its outcome is unknown, the model is told so. Default `idempotent`.
   */
  effect?: 'idempotent' | 'once';
  /** Looks up the outcome of a call with `effect: 'once'` whose outcome is unknown. */
  verify?: Verify<Deps, Needed>;
  /**
   * `remote`: a separate activity. `local`: a local activity, within the workflow task, for calls of a few milliseconds: it needs no
   * round trip to the server, and runs again if the workflow task does. Default `remote`.
   */
  tier?: 'remote' | 'local';
  /** The time limit of one attempt. Default 60 seconds; 5 seconds for a local tool, at most 10. */
  timeout?: Duration;
  /** The number of attempts, the first one included. Default 3. */
  maxAttempts?: number;
  /** The waits between attempts. Default: 1 second, then twice as long each time, up to 1 minute; 50 ms up to 1 second for a local tool. */
  backoff?: BackoffOptions;
  /** The thrown errors that are retried. Default `any`; `ToolFailure` and `ModelRetry` are never retried. */
  retryOn?: RetryOn;
  /** The number of times in a row that calls of the tool may ask the model to try again with `ModelRetry`. Default 2. */
  modelRetries?: number;
  /** The time without a heartbeat after which an attempt is considered lost. Default: three heartbeats of the worker. */
  heartbeatTimeout?: Duration;
  /** The number of calls of the tool that may run at once on one worker. Default: unlimited. */
  concurrency?: number;
  /** The task queue of its calls, polled by workers that have what the tool needs. Default: the task queue of the run. */
  taskQueue?: string;
}

export const TOOL_POLICY_OPTIONS: OptionTable<ToolPolicyOptions<unknown>> = {
  effect: true,
  verify: true,
  tier: true,
  timeout: true,
  maxAttempts: true,
  backoff: true,
  retryOn: true,
  modelRetries: true,
  heartbeatTimeout: true,
  concurrency: true,
  taskQueue: true,
};

/** Returns the checked policy of a tool. Throws a UsageError that names an invalid option. */
export function toolPolicy<Deps, Needed>(owner: string, options: ToolPolicyOptions<Deps, Needed>): ToolPolicy {
  const { effect = 'idempotent', tier = 'remote', verify, retryOn = 'any' } = options;
  oneOf(`${owner}: "effect"`, effect, ['idempotent', 'once']);
  oneOf(`${owner}: "tier"`, tier, ['remote', 'local']);
  if (typeof retryOn !== 'function') oneOf(`${owner}: "retryOn"`, retryOn, ['any', 'none', 'a function']);
  if (verify !== undefined && typeof verify !== 'function') throw new UsageError(`${owner}: "verify" is not a function`);
  if (verify !== undefined && effect !== 'once') {
    throw new UsageError(`${owner}: "verify" is for calls with "effect": "once": write that, or leave "verify" out`);
  }
  if (effect === 'once' && (options.maxAttempts ?? 1) !== 1) {
    throw new UsageError(
      `${owner}: "maxAttempts" is ${shownValue(options.maxAttempts)}, but "effect": "once" has one attempt: leave it out`,
    );
  }
  const isLocal = tier === 'local';
  if (isLocal) requireLocal(owner, options);
  const timeoutMs = timerMilliseconds(
    options.timeout ?? (isLocal ? DEFAULT_POLICY.localTimeoutMs : DEFAULT_POLICY.timeoutMs),
    `${owner}: "timeout"`,
  );
  if (isLocal && timeoutMs > MAX_LOCAL_TIMEOUT_MS) {
    throw new UsageError(
      `${owner}: "timeout" is ${timeoutMs} ms, but a local tool may take at most ${MAX_LOCAL_TIMEOUT_MS}: write "tier": "remote"`,
    );
  }
  const backoff = checkedBackoff(owner, options.backoff, isLocal);
  return {
    timeoutMs,
    maxAttempts: wholeNumber(`${owner}: "maxAttempts"`, options.maxAttempts ?? (effect === 'once' ? 1 : DEFAULT_POLICY.maxAttempts), 1),
    ...defined({ backoff }),
    ...(effect === 'once' ? { effect } : {}),
    ...(verify === undefined ? {} : { verify: true as const }),
    ...(isLocal ? { tier } : {}),
    ...callBounds(owner, options),
  };
}

function callBounds<Deps, Needed>(owner: string, options: ToolPolicyOptions<Deps, Needed>): Partial<ToolPolicy> {
  const { modelRetries, heartbeatTimeout, concurrency, taskQueue } = options;
  return {
    ...(modelRetries === undefined ? {} : { modelRetries: wholeNumber(`${owner}: "modelRetries"`, modelRetries, 0) }),
    ...(heartbeatTimeout === undefined ? {} : { heartbeatTimeoutMs: timerMilliseconds(heartbeatTimeout, `${owner}: "heartbeatTimeout"`) }),
    ...(concurrency === undefined ? {} : { concurrency: wholeNumber(`${owner}: "concurrency"`, concurrency, 1) }),
    ...(taskQueue === undefined ? {} : { taskQueue: nonEmpty(`${owner}: "taskQueue"`, taskQueue) }),
  };
}

/** Throws for options that a local tool cannot have: it reruns with its workflow task, on the worker of that task, without heartbeats. */
function requireLocal<Deps, Needed>(
  owner: string,
  { effect, heartbeatTimeout, taskQueue, concurrency }: ToolPolicyOptions<Deps, Needed>,
): void {
  const refusals: readonly [boolean, string][] = [
    [effect === 'once', '"effect": "once": a local call runs again whenever the task of its workflow does'],
    [heartbeatTimeout !== undefined, '"heartbeatTimeout": a local call has no heartbeats'],
    [taskQueue !== undefined, '"taskQueue": a local call runs where its workflow does'],
    [concurrency !== undefined, '"concurrency": a local call that waits for its turn holds up the task of its workflow'],
  ];
  const [, why] = refusals.find(([isRefused]) => isRefused) ?? [];
  if (why !== undefined) throw new UsageError(`${owner} has "tier": "local" and ${why}. Write "tier": "remote", or leave it out`);
}

function checkedBackoff(owner: string, backoff: BackoffOptions | undefined, isLocal: boolean): Backoff | undefined {
  if (backoff === undefined) return undefined;
  requireKnown(`${owner}: "backoff"`, backoff, { initial: true, factor: true, max: true });
  const defaults = isLocal ? DEFAULT_POLICY.localBackoff : DEFAULT_POLICY.backoff;
  const initialMs = milliseconds(backoff.initial ?? defaults.initialMs, `${owner}: "backoff.initial"`);
  const maxMs = milliseconds(backoff.max ?? Math.max(defaults.maxMs, initialMs), `${owner}: "backoff.max"`);
  const factor = backoff.factor ?? defaults.factor;
  if (!Number.isFinite(factor) || factor < 1)
    throw new UsageError(`${owner}: "backoff.factor" is ${shownValue(factor)}: write a number of at least 1`);
  if (isLocal && maxMs > MAX_LOCAL_TIMEOUT_MS) {
    throw new UsageError(
      `${owner}: "backoff.max" is ${maxMs} ms, but a local tool holds the task of its workflow while it waits, and may do so for ${MAX_LOCAL_TIMEOUT_MS} at most: write "tier": "remote"`,
    );
  }
  if (maxMs < initialMs) throw new UsageError(`${owner}: "backoff.max" is ${maxMs} ms, less than "backoff.initial" (${initialMs} ms)`);
  return { initialMs, factor, maxMs };
}

function oneOf(owner: string, value: unknown, known: readonly string[]): void {
  if (known.includes(value as string)) return;
  throw new UsageError(
    `${owner} is ${JSON.stringify(value)}: write ${known.map((one) => (one.startsWith('a ') ? one : `"${one}"`)).join(' or ')}`,
  );
}

/**
 * The form of a result that is too large for the conversation. `cut`: its beginning, with a marker that gives the number of
 * missing bytes. `spill`: the same, and the whole result goes to the worker's payload store. `error`: an error result with
 * its size, for tools where half a result is worse than none.
 * @useDeclaredType
 */
export type Overflow = (typeof OVERFLOWS)[number];

const OVERFLOWS = ['cut', 'spill', 'error'] as const;

/** The smallest budget: below it there is no room for the marker or an error message. */
const LEAST_RESULT_BYTES = 1_000;

/** The tool options for the size of its results. */
export interface ResultBudget {
  maxResultBytes: number;
  overflow: Overflow;
}

/** Returns the budget of a tool's results, with defaults. Throws a UsageError that names an option out of range. */
export function resultBudget(owner: string, options: Partial<ResultBudget>): ResultBudget {
  const maxResultBytes = wholeNumber(`${owner}: "maxResultBytes"`, options.maxResultBytes ?? BYTE_BUDGETS.toolResult, LEAST_RESULT_BYTES);
  if (maxResultBytes > BYTE_BUDGETS.maxToolResult) {
    throw new UsageError(
      `${owner}: "maxResultBytes" is ${maxResultBytes}: write at most ${BYTE_BUDGETS.maxToolResult}, or keep large results with "overflow": "spill"`,
    );
  }
  const overflow = options.overflow ?? 'cut';
  if (!OVERFLOWS.includes(overflow)) {
    throw new UsageError(`${owner}: "overflow" is ${JSON.stringify(overflow)}: write "cut", "spill" or "error"`);
  }
  return { maxResultBytes, overflow };
}

const TOOL_CALLERS: readonly unknown[] = ['model', 'code'] satisfies ToolCaller[];

/** Returns the `callers` of a tool, left out if both may call it. Throws a UsageError for a list that cannot work. */
export function toolCallers(owner: string, callers: readonly ToolCaller[] | undefined): { callers?: readonly ToolCaller[] } {
  if (callers === undefined) return {};
  if (!Array.isArray(callers) || callers.length === 0 || !callers.every((caller) => TOOL_CALLERS.includes(caller))) {
    throw new UsageError(`${owner}: "callers" is ${JSON.stringify(callers)}: write ["model"], ["code"] or both`);
  }
  const [only, ...others] = new Set<ToolCaller>(callers);
  return only === undefined || others.length > 0 ? {} : { callers: Object.freeze([only]) };
}
