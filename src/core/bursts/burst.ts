import { type AgentSnapshot, attemptsOf, type ToolSnapshot } from '../domain/agent.ts';
import type { Tier } from '../domain/batch.ts';
import { isToolCall } from '../domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { noUsage, type UsageStats } from '../domain/usage.ts';
import type { Window } from '../domain/window.ts';
import { type ContinueAsNewState, fromContinueAsNewState, STATE_VERSION, toContinueAsNewState } from '../kernel/continue-as-new.ts';
import { thoughtOf } from '../kernel/next-step.ts';
import type { ModelCall, ModelCallOutcome, ToolInvocation, ToolOutcome } from '../kernel/ports.ts';
import { noApprovals, type RunState, type UnnamedEvent } from '../kernel/run-state.ts';

/**
 * One call of a burst that has ended, and what it gave. `at`: when the loop of the burst learned of it, in milliseconds since the burst
 * began.
 */
export type BurstEntry = { at: number; key: string } & ({ model: ModelCallOutcome; tool?: never } | { tool: ToolOutcome; model?: never });

/** A call that a burst has begun and left to the run: the attempts that were made, and the details that the next one reads. */
export interface BegunCall {
  key: string;
  attempts: number;
  details?: JsonValue;
}

/** The outcomes of the calls of a burst, in the order in which they came. There is no decision in it: the run takes them again. */
export interface BurstRecord {
  entries: BurstEntry[];
  /** The calls that the run makes to their end. Absent: none was begun. */
  left?: BegunCall[];
  /** How many attempts each call took, by its key. Absent for a call: one. 0: it ended because all its attempts were lost. */
  attempts?: Record<string, number>;
  /** A request ended the burst before its first call. */
  givenUp?: true;
}

/** Names a model call of a run: no other one that has an answer follows as many events. */
export function modelKey({ through }: Pick<ModelCall, 'through'>): string {
  return `m${through}`;
}

/** Names a tool call of a run. */
export function toolKey({ offset, index }: Pick<ToolInvocation, 'offset' | 'index'>): string {
  return `t${offset}/${index}`;
}

/** The last characters of an id, in hexadecimal digits: those after the last hyphen of a UUID. */
const DIGITS = 12;

/**
 * Returns the ids of the events that a run makes itself from the beginning of a burst on: the same in its activity, and later in the run.
 * The id of an event follows from its content, or the ids of the results in it, and from the event before it, whose id follows from all before:
 * two attempts that have received different answers never name two conversations the same.
 */
export function burstIds(seed: string): (event?: UnnamedEvent) => string {
  const prefix = seed.slice(0, -DIGITS);
  let others = 0;
  return (event) => prefix + fingerprint(JSON.stringify(event === undefined ? [seed, (others += 1)] : [event.after, event.content]));
}

/** The factors of the two halves of a fingerprint: primes, as FNV has one. */
const FACTORS = [0x01000193, 0x5bd1e995] as const;

/** Returns 48 bits of a text in hexadecimal digits. Not against people who want two texts with the same: against chance. */
function fingerprint(text: string): string {
  let [high, low] = [0x811c9dc5, 0x9e3779b9];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, FACTORS[0]);
    low = Math.imul(low ^ code, FACTORS[1]);
    low ^= low >>> 15;
  }
  high ^= high >>> 16;
  return ((high >>> 0) % 0x10000).toString(16).padStart(4, '0') + (low >>> 0).toString(16).padStart(8, '0');
}

/** True if a run makes bursts as long as it has this agent. A model call that waits for a batch is ended by another workflow, as an activity. */
export function makesBursts({ burst, tier }: Pick<AgentSnapshot, 'burst'> & { tier?: Tier }): boolean {
  return burst !== undefined && tier !== 'batch';
}

/**
 * True if a burst may make the calls of a tool. It makes those that may run twice with the same key and nowhere else in particular: a call
 * that may have begun before a crash counts as an attempt, and a tool with a single one would lose it.
 */
export function mayRunInBurst(tool: ToolSnapshot): boolean {
  const { effect, tier, taskQueue, heartbeatTimeoutMs, concurrency, agent } = tool;
  const isSpecial = [taskQueue, heartbeatTimeoutMs, concurrency, agent].some((one) => one !== undefined);
  return effect !== 'once' && tier !== 'local' && !isSpecial && attemptsOf(tool) > 1;
}

/**
 * True if a model call may begin before the server has stored the result of this tool: it only reads, so that a crash in between costs no
 * more than reading again. The result is stored with the answer to it, or before a call that is more than reading.
 */
export function mayBeReadAgain({ category }: ToolSnapshot): boolean {
  return category === 'read' || category === 'search';
}

/** The parts of a carried state that a burst has from elsewhere: from its worker, from the conversation, or not at all. */
type FromElsewhere = 'version' | 'runId' | 'executions' | 'snapshot' | 'window' | 'inbox' | 'position' | 'thought' | 'principal';

/** The parts that most bursts begin with as their run has begun. */
type UsuallyBlank = 'deps' | 'state' | 'usage' | 'toolCallsTotal' | 'outputRetries' | 'approvals' | 'limits';

/** The parts that are absent if they are as at the beginning of the run, or follow from others: most calls that have started have ended. */
type Followed = UsuallyBlank | 'toolCallsStarted';

/** The state of a run as a burst begins with it, without what its worker knows. Plain JSON, mostly counters. */
export type BurstState = Omit<ContinueAsNewState, FromElsewhere | Followed> &
  Partial<Pick<ContinueAsNewState, Followed>> & {
    /** Absent: it is the last text of the conversation. */
    thought?: string;
  };

/** What a burst asks its run: the state, if its input has none, and why the run waits for its end. */
export interface BurstView {
  state: BurstState | null;
  /** The run, or its turn, is cancelled. */
  isCancelled: boolean;
  /** A message interrupts the model call in flight. */
  isInterrupted: boolean;
}

/** A burst sees no request. */
const NO_REQUESTS = { messages: [], seen: [], paused: false };

const POSITION = { type: 'call_model', final: false } as const;

/** Returns the state that a burst begins with. */
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
    thought,
    ...left
  } = carried;
  const known: Readonly<Record<string, unknown>> = knownParts(snapshot, left);
  const isKnown = ([name, value]: [string, unknown]): boolean => name in known && JSON.stringify(value) === JSON.stringify(known[name]);
  const parts = Object.fromEntries(Object.entries(left).filter((part) => !isKnown(part))) as Omit<BurstState, 'thought'>;
  return lastThought(window, snapshot.name) === thought ? parts : { ...parts, thought };
}

/** Returns the parts that are left out of the state if they have these values. */
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

/** What a worker knows of a run. */
export interface KnownRun extends Pick<RunState, 'runId' | 'snapshot' | 'window' | 'principal'> {}

/** Returns the state of the loop of a burst. */
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

// The outcomes of a burst as the server stores them. Each step has two, so that what follows from the rest of an outcome is left out.

/** The answer of a model. The reason for its end, and the sum of its tokens, are absent if they follow from the rest. */
export type StoredAnswer = Omit<RecordedResponse, 'finishReason' | 'usage'> & {
  finishReason?: RecordedResponse['finishReason'];
  usage: (Omit<UsageStats, 'totalTokens'> & Partial<Pick<UsageStats, 'totalTokens'>>) | null;
};

/**
 * An entry: when the burst learned of it, the key of the call, and the answer of a model, or the content of a result, its milliseconds, and
 * its id, which tells it from that of another attempt at the same call. Every other outcome follows the name of its kind.
 */
export type StoredEntry =
  | [at: number, key: string, answer: StoredAnswer]
  | [at: number, key: string, content: JsonValue[], durationMs: number, resultId: string]
  | [at: number, key: string, kind: 'model', outcome: ModelCallOutcome]
  | [at: number, key: string, kind: 'tool', outcome: ToolOutcome];

/** The outcomes of a burst, as its activity returns them. */
export interface StoredBurst extends Omit<BurstRecord, 'entries'> {
  entries: StoredEntry[];
}

/** What a burst stores while it runs: the outcomes so far, the attempt of its activity that has stored them, and the seed of the burst. */
export interface Checkpoint {
  record: Pick<StoredBurst, 'entries' | 'attempts'>;
  attempt: number;
  /** The calls that had begun and had no outcome, by their keys, with the number of attempts at each, the current one included. */
  running?: [key: string, attempts: number][];
  seed?: string;
}

/** Reads a checkpoint; undefined for anything else. The outcomes come from the server as the burst has sent them. */
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

/** The type of the failure of an attempt at a burst whose outcomes the server has not stored. */
export const BURST_NOT_STORED = 'burst_not_stored';

function numbersIn(object: JsonObject): Record<string, number> {
  return Object.fromEntries(Object.entries(object).filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}

function isRunningCall(value: unknown): value is [key: string, attempts: number] {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'number';
}

/**
 * Returns what is known of a burst that has ended. One that the server has ended between two attempts, because a request had come, returns
 * nothing: then it is what the server had stored of it before.
 */
export function withCheckpoint(record: BurstRecord | undefined, stored: Checkpoint | undefined): BurstRecord | undefined {
  if (!record?.givenUp || stored === undefined || stored.record.entries.length === 0) return record;
  return burstRecordOf(stored.record);
}

/** Returns an entry as it is stored. */
export function storedEntry({ at, key, model, tool }: BurstEntry): StoredEntry {
  if (model !== undefined) return model.type === 'response' ? [at, key, storedAnswer(model.response)] : [at, key, 'model', model];
  if (tool.type !== 'result' || tool.status !== 'success' || tool.durationMs === null) return [at, key, 'tool', tool];
  const { type: _, status: __, content, durationMs, resultId, ...more } = tool;
  const isPlain = resultId !== undefined && Object.values(more).every((value) => value === undefined);
  return isPlain ? [at, key, content, durationMs, resultId] : [at, key, 'tool', tool];
}

/** Returns the entry that was stored. */
export function entryOf(stored: StoredEntry): BurstEntry {
  const [at, key] = stored;
  if (stored[2] === 'model') return { at, key, model: stored[3] };
  if (stored[2] === 'tool') return { at, key, tool: stored[3] };
  if (stored.length === 3) return { at, key, model: { type: 'response', response: answerOf(stored[2]) } };
  const [, , content, durationMs, resultId] = stored;
  return { at, key, tool: { type: 'result', status: 'success', content, resultId, durationMs } };
}

/** Returns the outcomes of a burst as its run reads them. */
export function burstRecordOf({ entries, ...rest }: StoredBurst): BurstRecord {
  return { ...rest, entries: entries.map(entryOf) };
}

/** True for a stored entry: the outcomes come from the server as the burst has sent them. */
export function isStoredEntry(value: unknown): value is StoredEntry {
  if (!Array.isArray(value)) return false;
  const [at, key, third, fourth, fifth]: unknown[] = value;
  if (typeof at !== 'number' || typeof key !== 'string') return false;
  if (value.length === 3) return isStoredAnswer(third);
  if (value.length === 5) return Array.isArray(third) && typeof fourth === 'number' && typeof fifth === 'string';
  if (value.length !== 4 || !isJsonObject(fourth)) return false;
  // An answer has a form of its own.
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

/** The reason for which an answer usually ends: it calls tools, or it is whole. */
function usualReason({ content }: Pick<RecordedResponse, 'content'>): RecordedResponse['finishReason'] {
  return content.some(isToolCall) ? 'tool_calls' : 'stop';
}
