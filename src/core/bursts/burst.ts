import { noApprovals } from '../domain/approvals.ts';
import { type AgentSnapshot, attemptsOf, type ToolSnapshot } from '../domain/agent.ts';
import type { Tier } from '../domain/batch.ts';
import { isToolCall } from '../domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { fingerprint, FINGERPRINT_DIGITS } from '../domain/text.ts';
import { noUsage, type UsageStats } from '../domain/usage.ts';
import type { Window } from '../domain/window.ts';
import { type ContinueAsNewState, fromContinueAsNewState, STATE_VERSION, toContinueAsNewState } from '../kernel/continue-as-new.ts';
import { thoughtOf } from '../kernel/next-step.ts';
import type { ModelCall, ModelCallOutcome, ToolInvocation, ToolOutcome } from '../kernel/ports.ts';
import type { RunState, UnnamedEvent } from '../kernel/run-state.ts';

/** One ended call of a burst, and its outcome. `at`: when the burst's loop learned of it, in milliseconds since the burst began. */
export type BurstEntry = { at: number; key: string } & ({ model: ModelCallOutcome; tool?: never } | { tool: ToolOutcome; model?: never });

/** A call that a burst began and left to the run: the attempts made, and the details for the next attempt. */
export interface BegunCall {
  key: string;
  attempts: number;
  details?: JsonValue;
}

/** The outcomes of a burst's calls, in order of arrival. It contains no decisions: the run makes them again. */
export interface BurstRecord {
  entries: BurstEntry[];
  /** The calls that the run must complete. Absent: none was begun. */
  left?: BegunCall[];
  /** The number of attempts at each call, by its key. Absent for a call: one. 0: the call ended because all its attempts were lost. */
  attempts?: Record<string, number>;
  /** A request ended the burst before its first call. */
  givenUp?: true;
}

/** Returns the key of a model call: no two calls of a run with an answer follow the same number of events. */
export function modelKey({ through }: Pick<ModelCall, 'through'>): string {
  return `m${through}`;
}

/** Returns the key of a tool call. */
export function toolKey({ offset, index }: Pick<ToolInvocation, 'offset' | 'index'>): string {
  return `t${offset}/${index}`;
}

/**
 * Returns the ids of the events that a run creates itself from the beginning of a burst on: the same ids in the burst's activity and later
 * in the run. The id of an event is derived from its content, or from the ids of its results, and from the previous event's id, and thus
 * from all earlier events: two attempts that received different answers never give two conversations the same id.
 */
export function burstIds(seed: string): (event?: UnnamedEvent) => string {
  const prefix = seed.slice(0, -FINGERPRINT_DIGITS);
  let others = 0;
  return (event) => prefix + fingerprint(JSON.stringify(event === undefined ? [seed, (others += 1)] : [event.after, event.content]));
}

/**
 * True if a run with this agent makes bursts. A model call that waits for a batch must be an activity, because another workflow completes
 * it.
 */
export function makesBursts({ burst, tier }: Pick<AgentSnapshot, 'burst'> & { tier?: Tier }): boolean {
  return burst !== undefined && tier !== 'batch';
}

/**
 * True if a burst may make the calls of a tool: calls that may run twice with the same key, and on any worker. A call that may have begun
 * before a crash counts as an attempt, so a tool with a single attempt would lose it.
 */
export function mayRunInBurst(tool: ToolSnapshot): boolean {
  const { effect, tier, taskQueue, heartbeatTimeoutMs, concurrency, agent } = tool;
  const isSpecial = [taskQueue, heartbeatTimeoutMs, concurrency, agent].some((one) => one !== undefined);
  return effect !== 'once' && tier !== 'local' && !isSpecial && attemptsOf(tool) > 1;
}

/**
 * True if a model call may begin before the server has stored the result of this tool. The tool only reads, so a crash in between only
 * costs another read. The result is stored with the answer to it, or before a call that does more than read.
 */
export function mayBeReadAgain({ category }: ToolSnapshot): boolean {
  return category === 'read' || category === 'search';
}

/** The parts of a carried state that a burst gets from its worker, from the conversation, or not at all. */
type FromElsewhere =
  | 'version'
  | 'runId'
  | 'executions'
  | 'snapshot'
  | 'window'
  | 'inbox'
  | 'position'
  | 'thought'
  | 'principal'
  | 'otherIds';

/** The parts that are mostly unchanged since the beginning of the run when a burst begins. */
type UsuallyBlank = 'deps' | 'state' | 'usage' | 'toolCallsTotal' | 'outputRetries' | 'approvals' | 'limits';

/**
 * The parts that are absent if they are unchanged since the beginning of the run, or if they can be derived: most started calls have ended.
 */
type Followed = UsuallyBlank | 'toolCallsStarted';

/** The initial state of a burst, without what its worker knows. Plain JSON, mostly counters. */
export type BurstState = Omit<ContinueAsNewState, FromElsewhere | Followed> &
  Partial<Pick<ContinueAsNewState, Followed>> & {
    /** Absent: it is the last text of the conversation. */
    thought?: string;
  };

/** The answer to a burst's query: the state, if it is not in the burst's input, and why the run waits for the burst's end. */
export interface BurstView {
  state: BurstState | null;
  /** The run, or its turn, is cancelled. */
  isCancelled: boolean;
  /** A message interrupts the model call in flight. */
  isInterrupted: boolean;
}

/** A burst sees no requests. */
const NO_REQUESTS = { messages: [], seen: [], paused: false };

const POSITION = { type: 'call_model', final: false } as const;

/** Returns the initial state of a burst. */
export function toBurstState(state: RunState): BurstState {
  const carried = toContinueAsNewState(state, POSITION, { executions: 0, inbox: NO_REQUESTS });
  const {
    version: _,
    runId: __,
    executions: ___,
    snapshot,
    window,
    inbox: ____,
    position: _____,
    principal: ______,
    otherIds: _______,
    thought,
    ...left
  } = carried;
  const known: Readonly<Record<string, unknown>> = knownParts(snapshot, left);
  const isKnown = ([name, value]: [string, unknown]): boolean => name in known && JSON.stringify(value) === JSON.stringify(known[name]);
  const parts = Object.fromEntries(Object.entries(left).filter((part) => !isKnown(part))) as Omit<BurstState, 'thought'>;
  return lastThought(window, snapshot.name) === thought ? parts : { ...parts, thought };
}

/** Returns the parts that are omitted from the state if they have these values. */
function knownParts(
  { limits }: Pick<AgentSnapshot, 'limits'>,
  { toolCallsByName }: Pick<ContinueAsNewState, 'toolCallsByName'>,
): Pick<ContinueAsNewState, Followed> {
  return {
    deps: {},
    state: {},
    usage: noUsage(),
    toolCallsTotal: 0,
    outputRetries: 0,
    approvals: noApprovals(),
    limits: { ...limits },
    toolCallsStarted: toolCallsByName,
  };
}

/** The data of a run that a worker knows. */
export interface KnownRun extends Pick<RunState, 'runId' | 'snapshot' | 'window' | 'principal'> {}

/** Returns the state of a burst's loop. */
export function fromBurstState({ runId, snapshot, window, principal }: KnownRun, { thought, ...left }: BurstState): RunState {
  const { state } = fromContinueAsNewState({
    ...knownParts(snapshot, left),
    ...left,
    ...defined({ principal }),
    thought: thought ?? lastThought(window, snapshot.name),
    version: STATE_VERSION,
    runId,
    executions: 0,
    snapshot,
    window,
    inbox: NO_REQUESTS,
    position: POSITION,
  });
  return state;
}

/** Returns the last text of an agent in the conversation, or an empty text. */
function lastThought({ events }: Window, agent: string): string {
  for (const { author, content } of events.toReversed()) {
    const text = author === agent ? thoughtOf(content) : null;
    if (text !== null) return text;
  }
  return '';
}

// The outcomes of a burst as stored by the server. Each step has two, so everything that can be derived from the rest is omitted.

/** The answer of a model. The finish reason and the token total are omitted if they can be derived. */
export type StoredAnswer = Omit<RecordedResponse, 'finishReason' | 'usage'> & {
  finishReason?: RecordedResponse['finishReason'];
  usage: (Omit<UsageStats, 'totalTokens'> & Partial<Pick<UsageStats, 'totalTokens'>>) | null;
};

/**
 * An entry: when the burst learned of it, the key of the call, and the answer of a model, or the content of a result with its milliseconds
 * and its id, which distinguishes it from the results of other attempts at the call. Any other outcome is preceded by the name of its kind.
 */
export type StoredEntry =
  | [at: number, key: string, answer: StoredAnswer]
  | [at: number, key: string, content: JsonValue[], durationMs: number, resultId: string]
  | [at: number, key: string, kind: 'model', outcome: ModelCallOutcome]
  | [at: number, key: string, kind: 'tool', outcome: ToolOutcome];

/** The outcomes of a burst, as returned by its activity. */
export interface StoredBurst extends Omit<BurstRecord, 'entries'> {
  entries: StoredEntry[];
}

/** The data that a burst stores while it runs: the outcomes so far, the attempt of its activity, and the seed of the burst. */
export interface Checkpoint {
  record: Pick<StoredBurst, 'entries' | 'attempts'>;
  attempt: number;
  /** The keys of the calls in progress, with the number of attempts at each, including the current one. */
  running?: [key: string, attempts: number][];
  seed?: string;
}

/** Reads a checkpoint, or returns undefined. The server returns the outcomes unchanged. */
export function checkpointIn(details: unknown): Checkpoint | undefined {
  if (!isJsonObject(details)) return undefined;
  const { record, attempt, running, seed } = details;
  const { entries, attempts }: Record<string, unknown> = isJsonObject(record) ? record : {};
  if (!Array.isArray(entries) || !entries.every(isStoredEntry)) return undefined;
  return {
    record: { entries, ...(isJsonObject(attempts) ? { attempts: numbersIn(attempts) } : {}) },
    attempt: typeof attempt === 'number' ? attempt : 0,
    ...(Array.isArray(running) ? { running: running.filter(isRunningCall) } : {}),
    ...defined({ seed: typeof seed === 'string' ? seed : undefined }),
  };
}

/** The failure type of a burst attempt whose outcomes the server has not stored. */
export const BURST_NOT_STORED = 'burst_not_stored';

function numbersIn(object: JsonObject): Record<string, number> {
  return Object.fromEntries(Object.entries(object).filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}

function isRunningCall(value: unknown): value is [key: string, attempts: number] {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'number';
}

/**
 * Returns the known outcomes of an ended burst. A burst that the server ended between two attempts because of a request returns nothing:
 * then the outcomes are those that the server had stored before.
 */
export function withCheckpoint(record: BurstRecord | undefined, stored: Checkpoint | undefined): BurstRecord | undefined {
  if (!record?.givenUp || stored === undefined || stored.record.entries.length === 0) return record;
  return burstRecordOf(stored.record);
}

/** Converts an entry to its stored form. */
export function storedEntry({ at, key, model, tool }: BurstEntry): StoredEntry {
  if (model !== undefined) return model.type === 'response' ? [at, key, storedAnswer(model.response)] : [at, key, 'model', model];
  if (tool.type !== 'result' || tool.status !== 'success' || tool.durationMs === null) return [at, key, 'tool', tool];
  const { type: _, status: __, content, durationMs, resultId, ...more } = tool;
  const isPlain = resultId !== undefined && Object.values(more).every((value) => value === undefined);
  return isPlain ? [at, key, content, durationMs, resultId] : [at, key, 'tool', tool];
}

/** Converts a stored entry back. */
export function entryOf(stored: StoredEntry): BurstEntry {
  const [at, key] = stored;
  if (stored[2] === 'model') return { at, key, model: stored[3] };
  if (stored[2] === 'tool') return { at, key, tool: stored[3] };
  if (stored.length === 3) return { at, key, model: { type: 'response', response: answerOf(stored[2]) } };
  const [, , content, durationMs, resultId] = stored;
  return { at, key, tool: { type: 'result', status: 'success', content, resultId, durationMs } };
}

/** Converts the outcomes of a burst to the form that its run reads. */
export function burstRecordOf({ entries, ...rest }: StoredBurst): BurstRecord {
  return { ...rest, entries: entries.map(entryOf) };
}

/** True for a stored entry. The server returns the outcomes unchanged. */
export function isStoredEntry(value: unknown): value is StoredEntry {
  if (!Array.isArray(value)) return false;
  const [at, key, third, fourth, fifth]: unknown[] = value;
  if (typeof at !== 'number' || typeof key !== 'string') return false;
  if (value.length === 3) return isStoredAnswer(third);
  if (value.length === 5) return Array.isArray(third) && typeof fourth === 'number' && typeof fifth === 'string';
  if (value.length !== 4 || !isJsonObject(fourth)) return false;
  // An answer has its own form.
  if (third === 'model') return typeof fourth['type'] === 'string' && fourth['type'] !== 'response';
  return third === 'tool' && (fourth['type'] === 'result' ? Array.isArray(fourth['content']) : typeof fourth['type'] === 'string');
}

function isStoredAnswer(value: unknown): boolean {
  return isJsonObject(value) && typeof value['id'] === 'string' && Array.isArray(value['content']);
}

function storedAnswer({ finishReason, usage, ...answer }: RecordedResponse): StoredAnswer {
  return { ...answer, ...(finishReason === usualReason(answer) ? {} : { finishReason }), usage: usage && withoutSum(usage) };
}

function withoutSum({ totalTokens, ...tokens }: UsageStats): NonNullable<StoredAnswer['usage']> {
  return totalTokens === tokens.promptTokens + tokens.completionTokens ? tokens : { ...tokens, totalTokens };
}

function answerOf({ finishReason, usage, ...answer }: StoredAnswer): RecordedResponse {
  const { promptTokens = 0, completionTokens = 0 } = usage ?? {};
  return {
    ...answer,
    finishReason: finishReason ?? usualReason(answer),
    usage: usage && { ...usage, totalTokens: usage.totalTokens ?? promptTokens + completionTokens },
  };
}

/** The usual finish reason of an answer: it calls tools, or it is complete. */
function usualReason({ content }: Pick<RecordedResponse, 'content'>): RecordedResponse['finishReason'] {
  return content.some(isToolCall) ? 'tool_calls' : 'stop';
}
