import { log } from '@temporalio/activity';
import { isCodeCallId } from '../../src/core/code/callable-tools.ts';
import { isToolCall } from '../../src/core/domain/content.ts';
import { isJsonObject, type JsonObject, type JsonValue, MAX_JSON_DEPTH } from '../../src/core/domain/json.ts';
import { depsProblem } from '../../src/core/domain/deps.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import { type CallArgumentsQuestion, type CallUsage, type OfRun, QUERIES, type RunToolInput } from '../../src/core/protocol.ts';
import type { Resources, RunContext, RunLog } from '../../src/define/context.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import { type Attempt, attemptNumber, heartbeatDetails, lastDetails } from '../attempts/attempt.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { permanentFailure } from '../attempts/failure.ts';
import { eventsOf, queryRun, runIdOf } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { redactedLog } from '../secret-vault.ts';
import type { ToolStream } from '../streams/activity-streams.ts';

/** Parts of the context of one attempt, besides its input. */
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

/** Creates the context that a tool receives besides its arguments. */
export function toolContext(runtime: ActivityRuntime, input: RunToolInput, parts: AttemptParts): RunContext {
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
      const plain = cleanJson(value);
      if (plain === undefined)
        throw new TypeError(`setState: the value of "${key}" is not JSON, or nested deeper than ${MAX_JSON_DEPTH} levels`);
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

/** True for an empty plain object. A schema may turn deps into any value, and only a plain object holds nothing but its keys. */
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
 * Returns the arguments of a call as the model gave them, from the conversation; those that were rewritten, and those of a call of code, which is not in the
 * conversation, from the run. Fails without a retry if there is no such call.
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
