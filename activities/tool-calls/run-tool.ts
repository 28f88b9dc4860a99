import { activityInfo, getClient, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { backoffOf, MAX_LOCAL_TIMEOUT_MS } from '../../src/core/domain/agent.ts';
import { isToolCall, type SpilledContent, type ToolResult } from '../../src/core/domain/content.ts';
import { BYTE_BUDGETS, cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { defined, depthProblem, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { attemptsText, resultText, TOOL_TIMEOUT } from '../../src/core/domain/tool-calls.ts';
import { errorMessage, isInstance, LonghaulError, memberOf, thrownMessage } from '../../src/core/domain/errors.ts';
import { applyOperations, type ContextOperation, depsProblem, stateProblem, touchedKeys } from '../../src/core/domain/deps.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import {
  type CallArgumentsQuestion,
  type CallUsage,
  type OfRun,
  QUERIES,
  type RunToolInput,
  type RunToolOutput,
  type VerifyCallInput,
  type VerifyCallOutput,
} from '../../src/core/protocol.ts';
import { unknownField } from '../../src/core/domain/text.ts';
import type { Resources, RunContext, RunLog } from '../../src/define/context.ts';
import type { AnyTool, VerifiedOutcome } from '../../src/define/tool-definition.ts';
import { spill } from '../../src/stores/payload-store.ts';
import { WORKER_PARTS } from '../all-parts.ts';
import { type Attempt, attemptNumber, attemptsAllowed, heartbeatDetails, lastDetails, runAttempt } from '../attempts/attempt.ts';
import { attemptFailure, type ErrorSource, logToolError } from '../attempts/checked-activity.ts';
import { failingAs, MissingOnWorkerError, permanentFailure, retryDelay } from '../attempts/failure.ts';
import { eventsOf, queryRun, runIdOf } from '../run-queries/query-run.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';
import { ToolStream } from '../streams/activity-streams.ts';
import { toolSpan } from '../telemetry/call-spans.ts';
import { type Executed, executeTool, limitResultSize, shortId, startTimeLimit, ToolTimeout, toOutcome } from './execute-tool.ts';
import { mcpToolDefinition } from '../mcp/mcp-tool.ts';
import type { CallOwner } from '../worker-part.ts';
import { isCodeCallId } from '../../src/core/code/callable-tools.ts';
import { recordableJson } from '../../src/model/recordable-json.ts';
import { redactedLog } from '../secret-vault.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';

/** A local call that takes longer than this (milliseconds) is logged: it delays the workflow task. */
const SLOW_LOCAL_MS = 1_000;

/**
 * Creates the activity that runs one tool call. It is registered under the name of every tool, so that the Temporal UI
 * shows that name.
 */
export function runToolActivity(runtime: ActivityRuntime): (input: RunToolInput) => Promise<RunToolOutput> {
  return failingAs('internal', (input) => runTool(runtime, input));
}

/** A call with all inputs of an attempt. */
interface PreparedCall {
  input: RunToolInput;
  name: string;
  tool: AnyTool;
  args: JsonObject;
  deps: JsonObject;
  state: JsonObject;
  principal?: Principal | undefined;
  resources: Resources;
}

async function runTool(runtime: ActivityRuntime, input: RunToolInput): Promise<RunToolOutput> {
  const { name } = attemptInfo();
  const tool = findTool(runtime, input, name);
  if (tool === undefined) throw runtime.registry.missingTool(input, name, input.mcp?.server);
  for (const part of WORKER_PARTS) part.requireSettle?.(runtime, input);
  const { aborts, heartbeatMs, streams } = runtime;
  const options = { heartbeatMs, details: lastDetails, isPaced: streams?.usesHeartbeats === true };
  const output = await runAttempt(aborts, options, async (current) => {
    // Heartbeats continue meanwhile: a slow answer from the run, or reopening a resource, may exceed the heartbeat timeout, and a call that
    // the server has timed out must not begin.
    const args = await argumentsOf(runtime, input);
    const { deps, state, principal } = await dataFor(runtime, input);
    const resources = await runtime.resourcePool.use(tool.resources);
    return runToolAttempt(runtime, { input, name, tool, args, deps, state, principal, resources }, current);
  });
  if (!output.lost) runtime.conversations.addResult(input, output.id, input.eventId, toolResult(name, input, output));
  return output;
}

async function runToolAttempt(runtime: ActivityRuntime, call: PreparedCall, current: Attempt): Promise<RunToolOutput> {
  const { name, tool, input } = call;
  const concurrency = tool.policy.concurrency;
  const span = runtime.telemetry && (await toolSpan(runtime.telemetry, input, { tool: name, args: call.args }));
  const releaseSlot = concurrency === undefined ? undefined : await runtime.toolSemaphore.take(name, concurrency, current.signal);
  const limit = startTimeLimit(name, input.timeoutMs, (reason) => current.abort(reason));
  const changes = new Map<string, JsonValue>();
  const stream = new ToolStream(runtime, input, current);
  let hasBegun = false;
  try {
    const context = toolContext(runtime, input, {
      ...call,
      deps: runtime.registry.deps(input, call.deps),
      changes,
      attempt: current,
      stream,
    });
    current.throwIfAborted();
    hasBegun = true;
    const execute = (): Promise<Executed> => executeTool({ tool, args: call.args, context });
    const executed = await limit.race(span === undefined ? execute() : span.within(execute));
    span?.ended(executed);
    if (attemptInfo().isLocal && executed.durationMs > SLOW_LOCAL_MS) reportSlow(call, executed.durationMs);
    if (executed.thrown !== undefined && isRetried(call, executed.thrown.error))
      throw retryableFailure(runtime, call, executed, executed.thrown.error);
    if (executed.thrown !== undefined) logToolError(runtime, errorSource(call), executed.thrown.error, 'error');
    if (executed.modelError !== undefined) logToolError(runtime, errorSource(call), executed.modelError.error, 'debug');
    // The tool has acted: its time limit ends, and the capabilities' begins.
    stream.end();
    limit.clear();
    const settled = await settledResult(runtime, call, executed, current.signal);
    return await toolOutput(runtime, call, settled, Object.fromEntries(changes));
  } catch (error) {
    if (isInstance(error, ToolTimeout) && !mustNotRunTwice(call)) span?.timedOut();
    else span?.failed(error);
    if (!hasBegun) throw error;
    return await endOfAttempt(runtime, call, current, error);
  } finally {
    stream.end();
    limit.clear();
    releaseSlot?.();
    await span?.attemptOver({ isCancelled: current.isCancelled() });
  }
}

/** Returns the result after the changes of the run's capabilities. */
async function settledResult(runtime: ActivityRuntime, call: PreparedCall, executed: Executed, signal: AbortSignal): Promise<Executed> {
  const { input, name, args, deps, state, principal } = call;
  let settled = executed;
  for (const part of WORKER_PARTS) {
    if (part.settle === undefined) continue;
    const acted = { input, name, args, data: { deps, state, ...defined({ principal }) }, signal };
    const pending = part.settle(runtime, acted, settled);
    if (pending !== undefined) settled = { ...settled, ...(await pending) };
  }
  return settled;
}

/** Ends an attempt that was interrupted after the tool was called: by the run, by its timeout, or by a shutdown of the worker. */
async function endOfAttempt(runtime: ActivityRuntime, call: PreparedCall, current: Attempt, error: unknown): Promise<RunToolOutput> {
  // The tool may still be acting, or have acted.
  if (mustNotRunTwice(call) && !current.isCancelled()) return lostOutput(runtime, call, error);
  if (!isInstance(error, ToolTimeout)) throw error;
  if (isRetried(call, error)) throw ApplicationFailure.create({ type: TOOL_TIMEOUT, message: error.message, ...delayAfter(call, 0) });
  logToolError(runtime, errorSource(call), error, 'error');
  return toolOutput(runtime, call, {
    content: [`${error.message} (${attemptsText(attemptNumber())})`],
    isError: true,
    record: { timedOut: 'attempt' },
    durationMs: error.afterMs,
  });
}

function errorSource({ name, input: { agentName: agent, step, callId } }: PreparedCall): ErrorSource {
  return { what: `Tool "${name}"`, agent, step, callId };
}

/** True if the call must not run twice: the stricter of the pinned policy and the tool's current one decides. */
function mustNotRunTwice({ tool, input }: PreparedCall): boolean {
  return input.once === true || tool.policy.effect === 'once';
}

/** True if the error is retried: attempts are left, and the tool allows it. */
function isRetried(call: PreparedCall, error: unknown): boolean {
  const { tool } = call;
  const attempts = attemptsAllowed() ?? tool.policy.maxAttempts;
  if (mustNotRunTwice(call) || attemptNumber() >= attempts) return false;
  if (isInstance(error, ToolTimeout) || tool.retryOn === 'any') return true;
  return tool.retryOn !== 'none' && shouldRetry(tool.retryOn, error);
}

/** Calls `retryOn`. If it throws, the error is retried. */
function shouldRetry(retryOn: (error: unknown) => boolean, error: unknown): boolean {
  try {
    return retryOn(error);
  } catch {
    return true;
  }
}

/**
 * Returns a failure that Temporal retries according to the tool's policy. It is not recorded in history, but the server shows it for the
 * pending activity.
 */
function retryableFailure(runtime: ActivityRuntime, call: PreparedCall, { content }: Executed, error: unknown): ApplicationFailure {
  const retryAfterMs = retryDelay(memberOf(error, 'retryAfterMs')) ?? 0;
  return attemptFailure(runtime, error, {
    // Secrets are redacted before the text is cut: part of a secret would not be found.
    message: cutText(runtime.secrets.redact(resultText(content)), BYTE_BUDGETS.errorMessage),
    ...delayAfter(call, retryAfterMs),
  });
}

/** Returns the delay after a failed attempt: the error's, otherwise the tool's. */
function delayAfter({ tool }: PreparedCall, askedMs: number): { nextRetryDelay?: number } {
  // While a local call waits, so does the workflow task. Its policy determines its retries.
  if (attemptInfo().isLocal) return askedMs > 0 ? { nextRetryDelay: Math.min(askedMs, MAX_LOCAL_TIMEOUT_MS) } : {};
  if (askedMs > 0) return { nextRetryDelay: askedMs };
  const { initialMs, factor, maxMs } = backoffOf(tool.policy);
  return { nextRetryDelay: Math.max(1, Math.min(maxMs, Math.round(initialMs * factor ** (attemptNumber() - 1)))) };
}

/** Returns the result of a call for its run: redacted, within its budget, and with the changes to state and deps. */
async function toolOutput(
  runtime: ActivityRuntime,
  call: PreparedCall,
  executed: Executed,
  changes: JsonObject = {},
): Promise<RunToolOutput> {
  const { name, tool, input } = call;
  const kept = keptChanges(runtime, call, executed, changes);
  const attempts = attemptNumber();
  const named = executed.thrown !== undefined && attempts > 1 ? withAttempts(kept.content, attempts) : kept.content;
  const result = { name, content: runtime.secrets.redactJson(named) as JsonValue[], isError: kept.isError };
  const fitting = await limitResultSize(result, tool, (content) => spillContent(runtime, content));
  return {
    id: shortId(),
    content: fitting.content,
    ...(fitting.isError ? { isError: true } : {}),
    ...defined({ spilled: fitting.spilled }),
    durationMs: Math.round(executed.durationMs * 100) / 100,
    ...(input.timed ? { endedAt: Date.now() } : {}),
    ...defined({ state: kept.state, contextUpdate: kept.contextUpdate }),
    ...(executed.asksRetry ? { asksRetry: true } : {}),
    ...executed.record,
    ...identity(input),
  };
}

function withAttempts(content: JsonValue[], attempts: number): JsonValue[] {
  return [`${resultText(content)} (${attemptsText(attempts)})`];
}

/** Returns the outcome of a call that may have acted, although its result is unknown. */
function lostOutput(runtime: ActivityRuntime, call: PreparedCall, error: unknown): RunToolOutput {
  const { input } = call;
  logToolError(runtime, errorSource(call), error, 'error');
  const reason = cutText(runtime.secrets.redact(thrownMessage(error)), BYTE_BUDGETS.errorMessage);
  return { id: '', content: [], durationMs: 0, lost: true, reason, ...identity(input) };
}

/** The result of a local call identifies the call, because the history does not have its input. */
function identity({ at, callId, byId }: RunToolInput): Pick<RunToolOutput, 'at' | 'callId'> {
  if (!attemptInfo().isLocal) return {};
  return byId ? { callId } : { at };
}

function reportSlow({ name, input }: PreparedCall, durationMs: number): void {
  const took = Math.round(durationMs);
  log.warn(`The local tool "${name}" took ${took} ms, and delayed the workflow task of its run for that long: set "tier": "remote"`, {
    agent: input.agentName,
    step: input.step,
    callId: input.callId,
  });
}

function toolResult(name: string, { callId }: RunToolInput, { content, isError, spilled, notes }: RunToolOutput): ToolResult {
  return {
    type: 'tool_result',
    toolCallId: callId,
    name,
    status: isError ? 'error' : 'success',
    content,
    ...defined({ spilled, notes }),
  };
}

/** Stores content for the run that the current activity belongs to, with the codecs of this worker. */
async function spillContent({ payloadStore }: ActivityRuntime, content: JsonValue[]): Promise<SpilledContent> {
  // `createRuntime` refuses such a tool without a store.
  if (payloadStore === undefined) throw new LonghaulError('internal', 'This worker has no payload store');
  const { workflowExecution, workflowNamespace } = activityInfo();
  const run = { namespace: workflowNamespace ?? '', runId: workflowExecution?.workflowId ?? '' };
  return spill(payloadStore, getClient().options.loadedDataConverter, run, content);
}

/** Returns the decided arguments, if they differ from the model's. */
async function argumentsOf(runtime: ActivityRuntime, input: RunToolInput): Promise<JsonObject> {
  if (input.arguments !== undefined) return input.arguments;
  const { callId } = input;
  if (input.argumentsByReference) return queryRun<JsonObject>(input, QUERIES.callArguments, { callId } satisfies CallArgumentsQuestion);
  return callArguments(runtime, input, input);
}

/** A result with its changes to state and deps; an error result that changes nothing if the changes are refused. */
interface KeptChanges {
  content: JsonValue[];
  isError: boolean;
  state?: JsonObject;
  contextUpdate?: ContextOperation[];
}

/** The data of the run when the call began. */
interface CallData {
  input: RunToolInput;
  name: string;
  tool: Pick<AnyTool, 'updates'>;
  deps: JsonObject;
  state: JsonObject;
}

/**
 * Checks the changes of a call before they are reported to the run: the state within its budget, the deps by the agent's full schema, no
 * secret in either, and no key that the tool does not declare.
 */
function keptChanges(runtime: ActivityRuntime, call: CallData, executed: Executed, changes: JsonObject): KeptChanges {
  const { content, isError, update = [] } = executed;
  const isChanged = Object.keys(changes).length > 0;
  if (!isChanged && update.length === 0) return { content, isError };
  const unnamed = unnamedKey(call.tool, [...Object.keys(changes), ...touchedKeys(update)]);
  if (unnamed !== undefined) return { content: [unnamedText(call, unnamed)], isError: true };
  const problem = localProblem({ changes, update }) ?? (isChanged ? stateProblem(call.state, changes) : undefined);
  if (problem !== undefined) return { content: [`Tool '${call.name}' keeps too much. ${problem}`], isError: true };
  const refused = update.length === 0 ? undefined : updateProblem(runtime, call, update);
  if (refused !== undefined) {
    return { content: [`The update of the deps by tool '${call.name}' was refused, and changed nothing: ${refused}`], isError: true };
  }
  return {
    content,
    isError,
    ...(isChanged ? { state: runtime.secrets.redactJson(changes) as JsonObject } : {}),
    ...(update.length === 0 ? {} : { contextUpdate: update }),
  };
}

/** Returns the first changed key that the tool does not declare. The response's calls were ordered by the declared keys. */
function unnamedKey({ updates = true }: Pick<AnyTool, 'updates'>, keys: readonly string[]): string | undefined {
  return updates === true ? undefined : keys.find((key) => updates === false || !updates.includes(key));
}

function unnamedText({ name, tool: { updates } }: CallData, key: string): string {
  const named = typeof updates === 'boolean' ? 'nothing' : updates?.map((one) => `"${one}"`).join(', ');
  return `The update by tool '${name}' was refused, and changed nothing: it changes "${key}", and the option "updates" of the tool names ${named}`;
}

/**
 * Returns the problem with the size of a local call's changes, which share one message with everything else that the workflow task
 * produces.
 */
function localProblem(changed: { changes: JsonObject; update: ContextOperation[] }): string | undefined {
  const bytes = attemptInfo().isLocal ? jsonBytes(changed) : 0;
  if (bytes <= BYTE_BUDGETS.localChanges) return undefined;
  return `A call of a local tool may change ${BYTE_BUDGETS.localChanges} bytes of state and deps, and this one changes ${bytes}: write "tier": "remote".`;
}

function updateProblem({ registry, secrets }: ActivityRuntime, { input, deps }: CallData, update: ContextOperation[]): string | undefined {
  const updated = applyOperations(deps, update);
  if (!updated.ok) return updated.problem;
  // A value that is appended to a list is one level deeper.
  const tooDeep = depthProblem({ deps: updated.deps });
  if (tooDeep !== undefined) return tooDeep;
  // The operations are checked because they are recorded: even a value that a later operation removes is in the history.
  const [leak] = update.flatMap((one) => secrets.leak({ [one.key]: one.op === 'delete' ? null : one.value }, 'deps') ?? []);
  if (leak !== undefined)
    return `${leak} has a secret in it: deps are in the history of the run. Keep its name, and read it with context.secret`;
  try {
    registry.deps(input, updated.deps);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Creates the activity that asks a tool what happened to a call whose answer was lost. An error of the tool is retried. */
export function verifyCallActivity(runtime: ActivityRuntime): (input: VerifyCallInput) => Promise<VerifyCallOutput> {
  return failingAs('verification_failed', (input) => verifyCall(runtime, input));
}

async function verifyCall(runtime: ActivityRuntime, input: VerifyCallInput): Promise<VerifyCallOutput> {
  const { tool: name } = input;
  const tool = findTool(runtime, input, name);
  if (tool === undefined) throw runtime.registry.missingTool(input, name, input.mcp?.server);
  const verify = verifierOf(tool);
  return runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async (current) => {
    const limit = startTimeLimit(name, input.timeoutMs, (reason) => current.abort(reason));
    try {
      // Without a limit, a resource that never opens or a payload store that hangs would block the slot forever.
      return await limit.race(askVerifier(runtime, input, { tool, verify, attempt: current }));
    } finally {
      limit.clear();
    }
  });
}

/** The tool to ask, and the attempt that asks it. */
interface Verification {
  tool: AnyTool;
  verify: NonNullable<AnyTool['verify']>;
  attempt: Attempt;
}

async function askVerifier(
  runtime: ActivityRuntime,
  input: VerifyCallInput,
  { tool, verify, attempt: current }: Verification,
): Promise<VerifyCallOutput> {
  const { tool: name } = input;
  const { deps, state, principal } = await dataFor(runtime, input);
  const resources = await runtime.resourcePool.use(tool.resources);
  const stream = new ToolStream(runtime, input, current);
  const parts = { deps: runtime.registry.deps(input, deps), state, principal, resources, changes: new Map(), attempt: current, stream };
  const context = toolContext(runtime, input, parts);
  current.throwIfAborted();
  const found = requireClearAnswer(name, await verify(context.idempotencyKey, context as never));
  if (!found.happened) return { happened: false, tool: name };
  const executed = { ...(await toOutcome(tool, found.result)), durationMs: 0 };
  const call = { input, name, tool, args: input.arguments ?? {}, deps, state, principal, resources };
  const settled = await settledResult(runtime, call, executed, current.signal);
  return { happened: true, output: await toolOutput(runtime, call, settled) };
}

/** Returns the answer if it is a clear yes or no. Any other answer must not count as a no: the call may have happened. */
function requireClearAnswer(name: string, found: VerifiedOutcome | undefined | null): VerifiedOutcome {
  const problem = typeof found === 'object' && found !== null ? unknownField(found, { happened: true, result: true }) : undefined;
  if (problem === undefined && typeof found?.happened === 'boolean') return found;
  const why = problem === undefined ? 'neither {happened: true, result} nor {happened: false}' : `an ${problem}`;
  throw new LonghaulError('verification_failed', `"verify" of tool "${name}" returned ${why}`);
}

function verifierOf({ name, verify }: AnyTool): NonNullable<AnyTool['verify']> {
  if (verify !== undefined) return verify;
  const message = `This worker has no "verify" of tool "${name}": it cannot say what became of the call`;
  throw new MissingOnWorkerError('verification_failed', message, { kind: '"verify" of tool', name, known: [] });
}

/**
 * Returns the tool of a call by name, or undefined if this worker no longer has the tool, its agent, its MCP server or the capability that
 * provides it.
 */
export function findTool(runtime: ActivityRuntime, call: CallOwner, name: string): AnyTool | undefined {
  const part = WORKER_PARTS.find((one) => one.ownsTool?.(call));
  if (part !== undefined) return part.tool?.(runtime, call, name);
  const { mcp } = call;
  if (mcp === undefined) return runtime.registry.tool(call, name);
  const server = runtime.registry.mcpServer(call.agentName, mcp.server);
  if (server === undefined) return undefined;
  return mcpToolDefinition(runtime.mcp, server, { name, tool: mcp.tool, once: mcp.once === true });
}

/** Parts of an attempt's context in addition to its input. */
interface AttemptParts {
  /** Parsed with the agent's zod schema. */
  deps: unknown;
  state: JsonObject;
  principal?: Principal | undefined;
  resources: Resources;
  /** Receives the keys that the tool sets. */
  changes: Map<string, JsonValue>;
  attempt: Pick<Attempt, 'signal' | 'heartbeat'>;
  stream: Pick<ToolStream, 'emit'>;
}

/** Creates the context that a tool receives in addition to its arguments. */
function toolContext(runtime: ActivityRuntime, input: RunToolInput, parts: AttemptParts): RunContext {
  const { isLocal } = attemptInfo();
  const lastHeartbeat = lastDetails();
  const { secrets } = runtime;
  const { deps, state, principal = {}, resources, changes, attempt, stream } = parts;
  const { agentName, step, callId } = input;
  const runId = runIdOf(input);
  const context: RunContext = {
    deps: frozenCopy(deps),
    resources,
    secret: (named) => secrets.resolve(named),
    retry: attemptNumber() - 1,
    usage: usageOf(input),
    agent: agentName,
    principal: frozenCopy(principal),
    userId: principal.user,
    sessionId: idIn(deps, 'sessionId'),
    runId,
    step,
    callId,
    idempotencyKey: idempotencyKey(runId, input),
    get signal() {
      return attempt.signal;
    },
    state: frozenCopy(state),
    log: runLog(runtime, { runId, agent: agentName, step, callId }),
    events: eventsOf(input),
    setState: (key: string, value: JsonValue) => {
      const recordable = recordableJson(value, 'the value');
      if ('problem' in recordable) throw new TypeError(`setState: the value of "${key}" is not JSON: ${recordable.problem}`);
      const plain = recordable.value;
      if (plain === undefined) throw new TypeError(`setState: the value of "${key}" is undefined: write null`);
      const problem = depsProblem({ [key]: plain }, 'state');
      if (problem !== undefined) throw new TypeError(`setState: ${problem}`);
      changes.set(key, plain);
    },
    emit: (name, data) => stream.emit(name, data),
    // A local call has no heartbeats: it ends before one would be due.
    heartbeat: (details) => (isLocal ? undefined : attempt.heartbeat(redacted(runtime, heartbeatDetails(details)))),
  };
  return lastHeartbeat === undefined || lastHeartbeat === null ? context : { ...context, lastHeartbeat: lastHeartbeat as JsonValue };
}

function usageOf({ usage = { promptTokens: 0, completionTokens: 0, llmCalls: 0 } }: RunToolInput): CallUsage {
  return { ...usage, totalTokens: usage.totalTokens ?? usage.promptTokens + usage.completionTokens };
}

/** Returns a frozen copy for the tool. Most runs have no such data, and even an empty copy has a cost. */
function frozenCopy<Value>(value: Value): Readonly<Value> {
  return Object.freeze(isEmpty(value) ? { ...value } : structuredClone(value));
}

/** True for an empty plain object. A schema may turn deps into any value, and only a plain object consists of nothing but its keys. */
function isEmpty(value: unknown): boolean {
  return isJsonObject(value) && Object.getPrototypeOf(value) === Object.prototype && Object.keys(value).length === 0;
}

/**
 * Returns a key that is the same for every attempt of a call, and differs for any other call. It does not contain the
 * call's id: models choose that id, and may choose it again.
 */
function idempotencyKey(runId: string, { eventId, at }: Pick<RunToolInput, 'eventId' | 'at'>): string {
  return `${runId}/${eventId}/${at[1]}`;
}

function idIn(deps: unknown, field: 'sessionId'): string | undefined {
  const value = isJsonObject(deps) ? deps[field] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function redacted({ secrets }: ActivityRuntime, details: JsonValue | undefined): JsonValue | undefined {
  return details === undefined ? undefined : secrets.redactJson(details);
}

function runLog({ secrets }: ActivityRuntime, fields: Record<string, unknown>): RunLog {
  const line = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, more?: Record<string, unknown>) =>
    log[level](message, { ...fields, ...more });
  return redactedLog(secrets, { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') });
}

/** The location of a call: the offset of its event, its index in the content, the id of the event, and its own id. */
type CallLocation = Pick<RunToolInput, 'at' | 'eventId' | 'callId'> & { rewritten?: true };

/**
 * Returns the model's arguments of a call from the conversation. Rewritten arguments, and the arguments of a call of code, which is not in
 * the conversation, come from the run. Fails without a retry if there is no such call.
 */
export async function callArguments(
  runtime: ActivityRuntime,
  run: OfRun,
  { at, eventId, callId, rewritten }: CallLocation,
): Promise<JsonObject> {
  if (rewritten) return queryRun<JsonObject>(run, QUERIES.callArguments, { callId } satisfies CallArgumentsQuestion);
  const [offset, index] = at;
  const event = await runtime.conversations.event(run, { offset, id: eventId });
  const item = event?.content[index];
  if (item !== undefined && isToolCall(item)) return item.arguments;
  if (event === undefined && isCodeCallId(callId))
    return queryRun<JsonObject>(run, QUERIES.callArguments, { callId } satisfies CallArgumentsQuestion);
  throw permanentFailure('internal', `Event ${offset} of the run has no tool call at ${index}`);
}
