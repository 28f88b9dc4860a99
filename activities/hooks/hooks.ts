import { type ChildProcess, spawn } from 'node:child_process';
import { cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { errorMessage, LonghaulError, thrownMessage } from '../../src/core/domain/errors.ts';
import { type HookEvent, type HookRecord, hooksFor, type HookSnapshot, isBlocking } from '../../src/core/domain/hooks.ts';
import { defined, isJsonObject, isTexts, type JsonObject, type JsonValue, parsedJson } from '../../src/core/domain/json.ts';
import type { ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import { unknownField } from '../../src/core/domain/text.ts';
import { type DataView, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import type { AnyHook, HookContext } from '../../src/define/hooks.ts';
import { withoutPlaces } from '../../src/model/check-output.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import { recordableJson } from '../../src/model/recordable-json.ts';
import type { AgentRegistry } from '../agents/agent-registry.ts';
import { missingOnWorker } from '../attempts/failure.ts';
import { eventsOf, queryRun, runIdOf } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { AnsweredByPart, CallPurpose, PreparedByPart } from '../worker-part.ts';

/** The run whose hooks are called. */
export interface HookScope {
  runtime: ActivityRuntime;
  run: OfRun;
  /** The agent's name and the hooks of its run. */
  snapshot: { name: string; hooks?: HookSnapshot[] };
  signal: AbortSignal;
  /** Returns deps and state. Default: a query, which a local activity cannot send to its own run. */
  data?: () => Promise<DataView>;
}

/** The maximum bytes of JSON of a hook's text: the model reads it, or it is recorded with the call. */
const HOOK_TEXT_BYTES = 10_000;

/**
 * Calls the hooks of a run for one event. Never rejects, and repeats nothing: a hook that this worker lacks counts as failed. Secrets are
 * redacted from the outcome's texts, which are also cut.
 */
export async function runEventHooks(scope: HookScope, event: HookedEvent): Promise<HooksOutcome> {
  const { runtime, snapshot, signal } = scope;
  const contextOf = hookContexts(scope);
  const hooks = hooksFor(snapshot, event.on).map((pinned) => {
    try {
      return callable(pinnedHook(runtime.registry, pinned), contextOf, signal);
    } catch (error) {
      // The activity has begun: another worker would begin it again. Without the hook's definition, `failClosed` is assumed.
      return { name: pinned.name, priority: 0, failClosed: true, ask: () => Promise.reject(error) };
    }
  });
  if (hooks.length === 0) return { result: { type: 'allow' }, injected: [], ran: [], records: [] };
  return withoutSecrets(runtime, await runHooks(event, hooks));
}

/**
 * Throws `MissingOnWorkerError` if this worker lacks one of these hooks, before anything is done or paid for. Another worker may have it.
 */
export function requireHooks({ registry }: ActivityRuntime, hooks: readonly HookSnapshot[]): void {
  for (const hook of hooks) pinnedHook(registry, hook);
}

/** Returns this worker's version of a run's hook. Throws `unknown_hook` if it has none with that name and event. */
export function pinnedHook(registry: Pick<AgentRegistry, 'shared' | 'parts' | 'missingPart'>, { name, on, of }: HookSnapshot): AnyHook {
  const hooks = (of === undefined ? registry.shared : registry.parts({ agentName: of }))?.hooks ?? [];
  const hook = hooks.find((one) => one.name === name && one.on === on);
  if (hook !== undefined) return hook;
  const missing = { kind: 'hook', name, known: hooks.map((one) => one.name) };
  if (of === undefined) throw missingOnWorker('unknown_hook', `No hook "${name}" for "${on}" in this worker`, missing);
  throw registry.missingPart('unknown_hook', missing, { agentName: of }, ` for "${on}"`);
}

function hookContexts({
  runtime,
  run,
  snapshot,
  data = () => queryRun<DataView>(run, QUERIES.data, null),
}: HookScope): (signal: AbortSignal) => HookContext {
  let view: Promise<DataView> | undefined;
  const viewOnce = (): Promise<DataView> => (view ??= data());
  return (signal) => ({
    runId: runIdOf(run),
    agent: snapshot.name,
    deps: async () => Object.freeze(structuredClone((await viewOnce()).deps)),
    principal: async () => Object.freeze(structuredClone((await viewOnce()).principal ?? {})),
    events: eventsOf(run),
    resources: () => runtime.resourcePool.use(),
    signal,
  });
}

/** Secrets are redacted before a text is cut: part of a secret would not be found. */
function withoutSecrets({ secrets }: ActivityRuntime, outcome: HooksOutcome): HooksOutcome {
  const clean = (text: string): string => cutText(secrets.redact(text).toWellFormed(), HOOK_TEXT_BYTES);
  const { result, changes, injected, ask, records } = outcome;
  return {
    ...outcome,
    result: result.type === 'deny' && result.text !== undefined ? { ...result, text: clean(result.text) } : result,
    ...(changes === undefined ? {} : { changes: secrets.redactJson(changes) as JsonObject }),
    injected: injected.map(clean),
    ...(ask === undefined ? {} : { ask: { ...ask, text: clean(ask.text) } }),
    records: records.map((record): HookRecord =>
      record.text === undefined ? record : { ...record, text: cutText(clean(record.text), RECORD_BYTES) },
    ),
  };
}

/** The maximum bytes of JSON of a text in a record, which is part of steps and views. */
const RECORD_BYTES = 500;

/** Returns a hook that is called within its time limit, with the context that `contextOf` creates for a signal. */
export function callable(hook: AnyHook, contextOf: (signal: AbortSignal) => HookContext, cancelled: AbortSignal): CallableHook {
  const { name, match, priority, failClosed, timeoutMs } = hook;
  return {
    name,
    ...(match === undefined ? {} : { match: match as NonNullable<CallableHook['match']> }),
    priority,
    failClosed,
    ask: (payload) => inTime(timeoutMs, cancelled, (signal) => askHook(hook, payload, contextOf(signal), signal)),
  };
}

async function askHook({ run, command, on }: AnyHook, payload: JsonObject, context: HookContext, signal: AbortSignal): Promise<ReadAnswer> {
  if (command !== undefined) return askCommand(command, on, payload, signal);
  return readAnswer(await run?.(payload as never, context));
}

/** Rejects when the time is up, even if the work ignores its signal. */
async function inTime<Result>(timeoutMs: number, cancelled: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const timeUp = new AbortController();
  const signal = AbortSignal.any([timeUp.signal, cancelled]);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => timeUp.abort(new Error(`it gave no answer within ${timeoutMs} ms`)), timeoutMs);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    if (signal.aborted) reject(signal.reason as Error);
  });
  try {
    return await Promise.race([work(signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The maximum bytes that a command may write to each of its streams. */
const MAX_OUTPUT_BYTES = 256_000;

/** The variables of the worker's environment that a command gets: only the ones needed to find and run programs, and no secrets. */
const PASSED_ENVIRONMENT = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SystemRoot'];

/** The milliseconds that a command's pipes may stay open after its end, while its descendants hold them. */
const CLOSE_MS = 500;

/** Starts a command without a shell in a separate process group, writes the event to it as JSON, and reads its answer. */
async function askCommand(command: readonly string[], on: HookEvent, payload: JsonObject, signal: AbortSignal): Promise<ReadAnswer> {
  const [file = '', ...args] = command;
  let child: ChildProcess | undefined;
  try {
    signal.throwIfAborted();
    child = spawn(file, args, { env: commandEnvironment(), detached: true, shell: false, stdio: ['pipe', 'pipe', 'pipe'] });
    const { code, stdout, stderr } = await commandEnd(child, JSON.stringify({ event: on, payload }), signal);
    return readCommandEnd(code, stdout, stderr);
  } catch (error) {
    return { type: 'failed', text: signal.aborted ? errorMessage(signal.reason) : `"${file}" cannot be run: ${errorMessage(error)}` };
  } finally {
    if (child !== undefined) killGroup(child);
  }
}

function commandEnvironment(): Record<string, string> {
  return Object.fromEntries(
    PASSED_ENVIRONMENT.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The end of a command, and its output. */
interface CommandEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

function commandEnd(child: ChildProcess, input: string, signal: AbortSignal): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    const written = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    const sizes = { stdout: 0, stderr: 0 };
    const end = (code: number | null): void =>
      resolve({ code, stdout: Buffer.concat(written.stdout).toString(), stderr: Buffer.concat(written.stderr).toString() });
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.on('data', (chunk: Buffer) => {
        sizes[name] += chunk.length;
        if (sizes[name] > MAX_OUTPUT_BYTES) reject(new Error(`it wrote more than ${MAX_OUTPUT_BYTES} bytes`));
        else written[name].push(chunk);
      });
    }
    // A command need not read its input.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    child.once('error', reject);
    child.once('close', end);
    child.once('exit', (code) => setTimeout(() => end(code), CLOSE_MS).unref());
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Kills all processes of the group: a command may have started others. */
function killGroup({ pid, stdout, stderr }: ChildProcess): void {
  stdout?.destroy();
  stderr?.destroy();
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process group is already gone.
  }
}

/** A hook that is ready to be called. The caller provides the means to call it. */
export interface CallableHook {
  name: string;
  match?: string | RegExp | ((payload: JsonObject) => unknown);
  priority: number;
  failClosed: boolean;
  /** Returns its answer. A rejection is a failure of the hook. */
  ask: (payload: JsonObject) => Promise<ReadAnswer>;
}

/** The outcome of all hooks of one event. */
interface HooksOutcome {
  /** `deny` only for events that a hook can deny. */
  result: { type: 'allow' } | { type: 'deny'; hook: string; text?: string };
  /** The merged changes of all hooks, which the run uses. Absent: none. */
  changes?: JsonObject;
  /** The texts that the model reads. */
  injected: string[];
  /** The first question: the call waits for a decision. */
  ask?: { hook: string; text: string };
  /** The names of the hooks that were called, in order. */
  ran: string[];
  /** The answers that were not a plain allow. */
  records: HookRecord[];
}

/** The event, and the rule for its changes. */
interface HookedEvent {
  on: HookEvent;
  payload: JsonObject;
  /** Returns why a hook's changes cannot be used, which is a failure of that hook. Default: all changes can. */
  problemOf?: (changes: JsonObject) => string | undefined;
  /** Returns a hook's changes as the next hook gets them. Default: unchanged. */
  asRead?: (changes: JsonObject) => Promise<JsonObject>;
  /** At this event nothing reads texts or can wait, so any answer but allow and deny is a failure of its hook. */
  deniesOnly?: true;
  callId?: string;
}

/**
 * Calls the hooks of an event sequentially, by priority; each sees the changes of the previous ones. The first deny ends the chain if the
 * event can be denied; otherwise it is ignored. Never rejects.
 */
export async function runHooks(
  { on, payload, problemOf = () => undefined, asRead, deniesOnly, callId }: HookedEvent,
  hooks: readonly CallableHook[],
): Promise<HooksOutcome> {
  const outcome: HooksOutcome = { result: { type: 'allow' }, injected: [], ran: [], records: [] };
  const record = (hook: string, fields: Pick<HookRecord, 'answer' | 'text' | 'denied'>): void => {
    outcome.records.push({ hook, on, ...fields, ...defined({ callId }) });
  };
  for (const hook of hooks.toSorted((one, other) => one.priority - other.priority)) {
    const answer = await answerOf(hook, { ...payload, ...outcome.changes }, deniesOnly ? notDenying : changesProblem(problemOf));
    if (answer === undefined) continue;
    outcome.ran.push(hook.name);
    switch (answer.type) {
      case 'allow':
        break;
      case 'modify':
        outcome.changes = { ...outcome.changes, ...(asRead === undefined ? answer.changes : await asRead(answer.changes)) };
        record(hook.name, { answer: 'modify' });
        break;
      case 'inject':
        outcome.injected.push(answer.text);
        record(hook.name, { answer: 'inject', text: answer.text });
        break;
      case 'ask':
        outcome.ask ??= { hook: hook.name, text: answer.text };
        record(hook.name, { answer: 'ask', text: answer.text });
        break;
      default: {
        const isFailure = answer.type === 'failed';
        const denies = isBlocking(on) && (!isFailure || hook.failClosed);
        record(hook.name, { answer: answer.type, ...textField(answer.text), ...(isFailure && denies ? { denied: true as const } : {}) });
        if (!denies) break;
        const text = isFailure ? `hook errored (fail_closed): ${answer.text}` : answer.text;
        return { ...outcome, result: { type: 'deny', hook: hook.name, ...textField(text) } };
      }
    }
  }
  return outcome;
}

function textField(text: string | undefined): { text?: string } {
  return defined({ text });
}

/** Returns why an answer cannot be used; undefined if it can. */
type AnswerCheck = (answer: ReadAnswer) => string | undefined;

function changesProblem(problemOf: NonNullable<HookedEvent['problemOf']>): AnswerCheck {
  return (answer) => (answer.type === 'modify' ? problemOf(answer.changes) : undefined);
}

function notDenying({ type }: ReadAnswer): string | undefined {
  return type === 'modify' || type === 'inject' || type === 'ask'
    ? `it answered "${type}", which has no effect here: deny it, or let it pass`
    : undefined;
}

/** Returns the answer of a hook; undefined if it does not match. */
async function answerOf(hook: CallableHook, payload: JsonObject, problemOf: AnswerCheck): Promise<ReadAnswer | undefined> {
  try {
    if (!(await matchesPayload(hook.match, payload))) return undefined;
    // A hook that mutates its argument must not affect the next one.
    const answer = await hook.ask(structuredClone(payload));
    const problem = problemOf(answer);
    return problem === undefined ? answer : { type: 'failed', text: problem };
  } catch (error) {
    return { type: 'failed', text: thrownMessage(error) };
  }
}

async function matchesPayload(match: CallableHook['match'], payload: JsonObject): Promise<boolean> {
  if (match === undefined) return true;
  if (typeof match === 'function') return (await match(structuredClone(payload))) === true;
  const subject: JsonValue | undefined = payload['toolName'] ?? payload['agent'];
  if (typeof subject !== 'string') return false;
  if (typeof match === 'string') return match === subject;
  // A regular expression with the flag "g" or "y" remembers where it stopped.
  return new RegExp(match.source, match.flags.replaceAll(/[gy]/g, '')).test(subject);
}

/** The parsed answer of a hook. `failed`: the hook did not answer, or its answer is invalid. */
export type ReadAnswer =
  | { type: 'allow' }
  | { type: 'deny'; text?: string }
  | { type: 'modify'; changes: JsonObject }
  | { type: 'inject'; text: string }
  | { type: 'ask'; text: string }
  | { type: 'failed'; text: string };

/** The names of answers that have a value. */
const ANSWERS = { deny: true, modify: true, inject: true, ask: true, error: true };

/** Reads the return value of a hook. */
function readAnswer(returned: unknown): ReadAnswer {
  if (returned === undefined || returned === null || returned === 'allow') return { type: 'allow' };
  if (returned === 'deny') return { type: 'deny' };
  const recordable = recordableJson(returned, 'the answer');
  if ('problem' in recordable) return { type: 'failed', text: `its answer is not JSON: ${recordable.problem}` };
  const answer = recordable.value;
  const [key, ...more] = isJsonObject(answer) ? Object.keys(answer) : [];
  const unknown = isJsonObject(answer) ? unknownField(answer, ANSWERS) : undefined;
  if (unknown !== undefined) return { type: 'failed', text: `its answer has an ${unknown}` };
  if (!isJsonObject(answer) || key === undefined || more.length > 0) return notAnAnswer(answer);
  const value = answer[key];
  if (key === 'modify' && isJsonObject(value)) return { type: 'modify', changes: value };
  if (typeof value !== 'string') return notAnAnswer(answer);
  if (key === 'deny' || key === 'inject' || key === 'ask') return { type: key, text: value.toWellFormed() };
  return { type: 'failed', text: value.toWellFormed() };
}

function notAnAnswer(answer: unknown): ReadAnswer {
  const excerpt = JSON.stringify(answer)?.slice(0, 200) ?? 'a value that is not JSON';
  return { type: 'failed', text: `it answered ${excerpt}, which is not a valid answer of a hook` };
}

/** Reads the end of a command from its exit code and output. 0: the JSON on standard output. 2: a deny. Any other: a failure. */
function readCommandEnd(code: number | null, stdout: string, stderr: string): ReadAnswer {
  const said = stderr.trim();
  if (code === 2) return said === '' ? { type: 'deny' } : { type: 'deny', text: said };
  if (code !== 0)
    return { type: 'failed', text: `it ended with ${code === null ? 'a signal' : `exit code ${code}`}${said === '' ? '' : `: ${said}`}` };
  if (stdout.trim() === '') return { type: 'allow' };
  const written = parsedJson(stdout);
  if (written === undefined) return { type: 'failed', text: `it wrote ${JSON.stringify(stdout.slice(0, 200))}, which is not JSON` };
  return readWritten(written);
}

/** Reads `{"result": "deny", "reason": …}` and similar answers. */
function readWritten(written: unknown): ReadAnswer {
  if (!isJsonObject(written)) return notAnAnswer(written);
  const { result, reason, changes, text, error } = written;
  if (result === 'allow') return { type: 'allow' };
  if (result === 'deny') return typeof reason === 'string' ? { type: 'deny', text: reason } : { type: 'deny' };
  if (result === 'modify') return readAnswer({ modify: changes });
  if (result === 'inject') return readAnswer({ inject: text });
  if (result === 'ask') return readAnswer({ ask: reason ?? '' });
  return result === 'error' ? readAnswer({ error: error ?? reason ?? 'it answered "error"' }) : notAnAnswer(written);
}

/**
 * Calls the hooks before a model call. Their texts are only added to the instructions of this request. Throws `hook_denied` if one denies
 * it, before anything is paid for.
 */
export async function beforeRequest(
  scope: HookScope,
  { model, step }: Extract<CallPurpose, { type: 'answer' }>,
  request: ModelRequest,
): Promise<PreparedByPart> {
  const { conversation, instructions, tools } = request;
  const { result, injected, records } = await runEventHooks(scope, {
    on: 'pre_request',
    payload: { model, step, messages: conversation.length, tools: tools.map(({ name }) => name) },
    problemOf: () => 'a request cannot be modified: inject a text, or deny it',
  });
  if (result.type === 'deny') {
    const reason = result.text === undefined ? '' : `: ${result.text}`;
    throw new LonghaulError('hook_denied', `Hook "${result.hook}" denied the model call of step ${step}${reason}`);
  }
  return {
    request: injected.length === 0 ? request : { ...request, instructions: [...instructions, ...injected] },
    notes: { hooks: records },
  };
}

/** Calls the hooks before the model summarizes `events` events. Their texts are added to the instructions of that request. Never rejects. */
export async function beforeSummary(scope: HookScope, events: number, request: ModelRequest): Promise<PreparedByPart> {
  const { injected, records } = await runEventHooks(scope, {
    on: 'pre_compact',
    payload: { events },
    problemOf: () => 'a summary cannot be modified: inject a text',
  });
  return { request: { ...request, instructions: [...request.instructions, ...injected] }, notes: { hooks: records } };
}

/** The maximum bytes of JSON of a text that replaces an answer. */
const ANSWER_TEXT_BYTES = 64_000;

/** Calls the hooks after a model call, before the answer is interpreted: one of them may replace its text. Never rejects. */
export async function afterResponse(scope: HookScope, answer: ModelResponse): Promise<AnsweredByPart> {
  const { changes, records } = await runEventHooks(scope, {
    on: 'post_response',
    payload: responsePayload(answer),
    problemOf: textProblem,
  });
  const text = changes?.['text'];
  const notes = { hooks: records };
  if (typeof text !== 'string') return { answer, notes };
  // They would return the replaced text to the provider.
  const { providerItems, account: _, structured: __, sources, ...rest } = answer;
  const items = providerItems === undefined ? {} : { providerItems: [] };
  return { answer: { ...rest, content: text, ...items, ...(sources === undefined ? {} : { sources: withoutPlaces(sources) }) }, notes };
}

/** The types in an answer are not trusted. */
function responsePayload(answer: Partial<ModelResponse> | null | undefined): JsonObject {
  const { content, toolCalls, finishReason, usage } = answer ?? {};
  const calls = Array.isArray(toolCalls) ? toolCalls : [];
  return {
    text: typeof content === 'string' ? content : '',
    toolCalls: calls.map((call) => ({ name: jsonOrNull(call?.name), arguments: jsonOrNull(call?.arguments) })),
    finishReason: jsonOrNull(finishReason),
    usage: jsonOrNull(usage),
  };
}

function jsonOrNull(value: unknown): JsonValue {
  return value === undefined ? null : (cleanJson(value) ?? null);
}

function textProblem(changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'text');
  if (other !== undefined) return `it changes "${other}": only "text" can be changed in an answer`;
  if (typeof changes['text'] !== 'string') return 'it changes "text" to something else than a text';
  const bytes = jsonBytes(changes['text']);
  // A paid answer must not become too large to be recorded.
  return bytes > ANSWER_TEXT_BYTES ? `the text has ${bytes} bytes of JSON, over ${ANSWER_TEXT_BYTES}` : undefined;
}

/** The result of a call before its budget is applied. */
interface CallResult {
  content: JsonValue[];
  isError: boolean;
}

/** The result after its hooks. The content is the same array if no hook changed it. */
interface HookedResult extends CallResult {
  /** The texts that the model reads after it. */
  notes: string[];
  hooks: HookRecord[];
}

/** The event, and the fields of its payload in addition to the call's id and result. */
interface ResultEvent {
  on: 'post_tool_use' | 'subagent_stop';
  callId: string;
  about: JsonObject;
}

/** Calls the hooks for the result of a call. One may replace it, or add a note for the model. Never rejects. */
export async function afterCall(
  scope: HookScope,
  { on, callId, about }: ResultEvent,
  { content, isError }: CallResult,
): Promise<HookedResult> {
  const [only = null, ...more] = content;
  const {
    changes = {},
    injected: notes,
    records,
  } = await runEventHooks(scope, {
    on,
    payload: { ...about, callId, result: more.length === 0 ? only : content, isError },
    callId,
    problemOf: resultProblem,
  });
  const replaced = changes['result'] === undefined ? content : [changes['result']];
  const failed = changes['isError'] === undefined ? isError : changes['isError'] === true;
  return { content: replaced, isError: failed, notes, hooks: records };
}

function resultProblem(changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'result' && key !== 'isError');
  if (other !== undefined) return `it changes "${other}": only "result" and "isError" can be changed after a call`;
  const { isError } = changes;
  return isError === undefined || typeof isError === 'boolean' ? undefined : 'it changes "isError" to something else than true or false';
}

/** The time limit of all hooks together, in milliseconds: the activity that resolves the agent is bounded, and has more to do. */
const TOTAL_MS = 30_000;

/** The instructions of a run, with the answers of the hooks at its start. */
interface OpenedSession {
  instructions: string[];
  records: HookRecord[];
}

/** Calls the hooks at the start of a run: one may replace the instructions, or add to them. Never rejects. */
export async function openSession(scope: HookScope, instructions: string[]): Promise<OpenedSession> {
  const timed = { ...scope, signal: AbortSignal.any([scope.signal, AbortSignal.timeout(TOTAL_MS)]) };
  const { changes, injected, records } = await runEventHooks(timed, {
    on: 'session_start',
    payload: { instructions },
    problemOf: instructionsProblem,
  });
  const replaced = changes?.['instructions'];
  return { instructions: [...(isTexts(replaced) ? replaced : instructions), ...injected], records };
}

function instructionsProblem(changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'instructions');
  if (other !== undefined) return `it changes "${other}": only "instructions" can be changed at the start`;
  return isTexts(changes['instructions']) ? undefined : 'it changes "instructions" to something else than a list of texts';
}
