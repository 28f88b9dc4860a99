import { isToolCall } from '../domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { UsageStats } from '../domain/usage.ts';
import type { ModelCallOutcome, ToolOutcome } from '../kernel/ports.ts';
import type { BurstEntry, BurstRecord } from './burst.ts';

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
