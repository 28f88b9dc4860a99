import { createHash, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { LonghaulError } from '../../core/domain/errors.ts';
import { parsedJson } from '../../core/domain/json.ts';
import type { Event } from '../../core/domain/record.ts';
import type { RunResultFields } from '../../core/domain/result.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import type { Delta } from '../../core/domain/stream.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';

/** The result of a run in the last item of its stream, without the steps, which were separate items. */
export type StreamedResult = Omit<RunResultFields, 'steps'>;

/** One item of the stream of a run, without its cursor. */
export type StreamItemContent =
  /** A recorded event. It replaces the deltas with its id, and the deltas of the tool calls whose results it holds. */
  | { type: 'event'; offset: number; event: Event }
  /** A recorded step. It follows the event that completed it. */
  | { type: 'step'; step: StepResult }
  /**
   * A provisional piece of output. `eventId` is the id of the event that will replace it. With `callId`, it belongs to a call, and
   * `eventId` is the event that has the call: the event with the call's result replaces the delta.
   */
  | { type: 'delta'; step: number; attempt: number; eventId: string; callId?: string; delta: Delta }
  /**
   * Another attempt of a call begins: it discards the deltas of earlier attempts of the model call or of `callId`. With
   * `offset`, `retry` has sent the run back to an earlier step since the cursor was made: all deltas, the events from that offset on and
   * the steps from `step` on are discarded.
   */
  | { type: 'reset'; step: number; attempt: number; callId?: string; offset?: number }
  /** Deltas may be missing here, but no events or steps: the next event holds everything. */
  | { type: 'gap' }
  /** The status of the run, sent at the beginning and after each change. */
  | { type: 'status'; status: RunStatus }
  /** The run has ended. Only this item ends a stream. */
  | { type: 'end'; result: StreamedResult };

/** One item of a run's stream. `cursor` is opaque: a stream that starts from it, in any process at any time, continues after this item. */
export type StreamItem = StreamItemContent & { cursor: string };

/** Output of a call that a reader has seen, and that no event of the record has replaced yet. */
interface SeenOutput {
  /** The index of the next delta. */
  next: number;
  /** The tag of the call; empty for a model call of an agent. */
  call: string;
  /** The tag of the execution. */
  execution: string;
  activity: number;
  attempt: number;
}

/** The place of a reader in a run's stream. Readers that have read the same items have the same place. */
export interface StreamPlace {
  /** Offset of the next event. */
  offset: number;
  /** Index of the next step. */
  step: number;
  /** The newest model response that was read: after a `retry`, another one may be at its offset. */
  response?: { offset: number; tag: string };
  status?: RunStatus;
  /** Live output, by the tag of its attempt. */
  live: Map<string, SeenOutput>;
  /** The tag of the execution that was read. Absent at the beginning. */
  execution?: string;
  /** The tag of the execution whose end was read. */
  ended?: string;
}

const VERSION = 1;

/**
 * The most attempts with live output that a cursor names: more than a step of a program runs at once. A reader that follows more
 * may see a delta again. At this limit, a cursor has 7 kB, which still fits into a header.
 */
const MOST_SEEN = 128;
const TAG_LENGTH = 10;

/** The index of the cursor's part that names the execution whose end was read. */
const ENDED = 8;

/** A cache of tags: many deltas share the tags of their run and attempt. */
const TAGS = new LRUCache<string, string>({ max: 2_000 });

/** Returns a short digest, used in cursors in place of long values. */
export function tagOf(...parts: readonly string[]): string {
  const text = JSON.stringify(parts);
  const known = TAGS.get(text);
  if (known !== undefined) return known;
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, TAG_LENGTH);
  TAGS.set(text, tag);
  return tag;
}

/** Returns the place of a reader that has read nothing. */
export function beginning(): StreamPlace {
  return { offset: 0, step: 0, live: new Map() };
}

/** Returns the cursor of an item that leads to a place. It is unique, even among items that lead to the same place. */
export function cursorAt(runId: string, { offset, step, response, status, live, execution, ended }: StreamPlace): string {
  // The last part of a UUID is random. Node buffers its bytes: asking the kernel for each item would take longer than all the rest.
  const unique = randomUUID().slice(-12);
  const seen = [...live]
    .slice(-MOST_SEEN)
    .map(([tag, { next, call, execution: made, activity, attempt }]) => [
      tag,
      next,
      call,
      made === execution ? 0 : made,
      activity,
      attempt,
    ]);
  const known = [response === undefined ? 0 : [response.offset, response.tag], status ?? 0, seen, execution ?? 0, ended ?? 0];
  return Buffer.from(JSON.stringify([VERSION, tagOf(runId), offset, step, ...known, unique])).toString('base64url');
}

/** Returns a text that is equal for two places if and only if they are the same. */
export function placeText({ offset, step, response, status, live, execution, ended }: StreamPlace): string {
  return JSON.stringify([offset, step, response ?? 0, status ?? 0, [...live], execution ?? 0, ended ?? 0]);
}

/** Returns the place after the item with this cursor. Throws `invalid_cursor` for an invalid cursor, and for another run's cursor. */
export function placeOf(runId: string, cursor: string): StreamPlace {
  const parts = typeof cursor === 'string' ? partsOf(cursor) : undefined;
  if (parts === undefined) throw invalid(cursor, 'it is not the cursor of a stream');
  const [, run, offset, step, response, status, seen, execution, ended] = parts;
  if (run !== tagOf(runId)) throw invalid(cursor, `it belongs to another run than "${runId}"`);
  return {
    offset,
    step,
    ...(response === 0 ? {} : { response: { offset: response[0], tag: response[1] } }),
    ...(status === 0 ? {} : { status }),
    live: new Map(
      seen.map(([tag, next, call, made, activity, attempt]) => [
        tag,
        { next, call, execution: made === 0 ? String(execution) : made, activity, attempt },
      ]),
    ),
    ...(execution === 0 ? {} : { execution }),
    ...(ended === 0 ? {} : { ended }),
  };
}

/** True for a cursor at the end of a run, which `retry` may have reopened since. */
export function isOfEnd(cursor: string): boolean {
  const [ended] = partsOf(cursor)?.slice(ENDED) ?? [];
  return typeof ended === 'string';
}

/** `execution` is 0 if it is the execution of the place. */
type SeenParts = [tag: string, next: number, call: string, execution: string | 0, activity: number, attempt: number];

type Parts = [
  version: 1,
  run: string,
  offset: number,
  step: number,
  response: 0 | [number, string],
  status: 0 | RunStatus,
  seen: SeenParts[],
  execution: 0 | string,
  ended: 0 | string,
];

function partsOf(cursor: string): Parts | undefined {
  const value = parsedJson(Buffer.from(cursor, 'base64url').toString());
  return isParts(value) ? value : undefined;
}

function isParts(value: unknown): value is Parts {
  if (!Array.isArray(value)) return false;
  const [version, run, offset, step, response, status, seen, execution, ended] = value as unknown[];
  return (
    version === VERSION &&
    typeof run === 'string' &&
    isCount(offset) &&
    isCount(step) &&
    (response === 0 || (isTuple(response, 2) && isCount(response[0]) && typeof response[1] === 'string')) &&
    (status === 0 || typeof status === 'string') &&
    Array.isArray(seen) &&
    seen.every(isSeen) &&
    (execution === 0 || typeof execution === 'string') &&
    (ended === 0 || typeof ended === 'string')
  );
}

function isSeen(value: unknown): boolean {
  if (!isTuple(value, 6)) return false;
  const [tag, next, call, execution, activity, attempt] = value;
  const isNamed = execution === 0 || typeof execution === 'string';
  return isNamed && [tag, call].every((one) => typeof one === 'string') && [next, activity, attempt].every(isCount);
}

function isTuple(value: unknown, length: number): value is unknown[] {
  return Array.isArray(value) && value.length === length;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function invalid(cursor: unknown, why: string): LonghaulError {
  const shown = JSON.stringify(String(cursor).slice(0, 40));
  return new LonghaulError('invalid_cursor', `Cursor ${shown} cannot be used: ${why}. Leave it out to read from the beginning`);
}

/** The lists whose items `oneByOne` yields. */
const LISTS = new WeakMap<AsyncGenerator<StreamItem>, AsyncGenerator<readonly StreamItem[]>>();

/** Yields the items of lists, one by one. */
export function oneByOne(lists: AsyncGenerator<readonly StreamItem[]>): AsyncGenerator<StreamItem> {
  const items = itemsOf(lists);
  LISTS.set(items, lists);
  return items;
}

/**
 * Returns the lists of an unread stream, which must then be read only through them; undefined if it has none. Each item of a
 * stream passes several iterators, which takes longer than everything else that a service does for it. A list passes them once.
 */
export function listsOf<Item>(items: AsyncGenerator<Item>): AsyncGenerator<readonly Item[]> | undefined {
  return LISTS.get(items as AsyncGenerator<never>) as AsyncGenerator<readonly Item[]> | undefined;
}

async function* itemsOf(lists: AsyncGenerator<readonly StreamItem[]>): AsyncGenerator<StreamItem> {
  for await (const list of lists) yield* list;
}
