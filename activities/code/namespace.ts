import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { RunSegmentInput } from '../../src/core/domain/activity-messages.ts';
import { canonicalJson, isJsonObject, type JsonValue, MAX_JSON_DEPTH } from '../../src/core/domain/json.ts';
import {
  type CodeCall,
  type CodeCallResult,
  EMPTYING_ERROR_KINDS,
  type Executor,
  failed,
  type Moment,
  type Segment,
} from '../../src/core/domain/execution.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import type { RunKey } from '../run-queries/query-run.ts';

/** Bytes that an executor takes in addition to the values of its code. */
const EXECUTOR_BYTES = 8_000_000;

interface Cell {
  /** Identifies the cell in its run. */
  id: string;
  code: string;
  moment: Moment;
}

/** An executed segment. Without a digest the cell has ended, and its values are unreliable. */
export interface RanSegment {
  segment: Segment;
  digest?: string;
}

/** The names and values of a run's code: an executor, and its position in the journal of the run. */
export class Namespace {
  readonly executor: Executor;
  /** Milliseconds that the cells since the checkpoint took. */
  cellMs = 0;
  /** The code of the last cell. */
  code = '';
  /** The known names that code has declared. */
  names: readonly string[] = [];
  #cells = 0;
  /** The digest of the last segment, or of the checkpoint. */
  #after = '';
  #running: { id: string; segments: number; digest: string } | undefined;
  #memoryBytes = 0;
  #isReliable = true;

  constructor(executor: Executor) {
    this.executor = executor;
  }

  /** The position in the journal, as `positionBefore` writes it. */
  get position(): string {
    return namespacePosition(this.#cells, this.#after, this.#running);
  }

  /** True if a cell waits for its calls. */
  get isWaiting(): boolean {
    return this.#running !== undefined;
  }

  /** False if a cell has ended in a way after which the namespace must not be used. */
  get isReliable(): boolean {
    return this.#isReliable;
  }

  /** Bytes of memory that it takes, as reported by its executor. */
  get bytes(): number {
    return EXECUTOR_BYTES + this.#memoryBytes;
  }

  /** Runs a cell up to its first calls, or to its end. */
  async begin({ id, code, moment }: Cell): Promise<RanSegment> {
    // An executor that has run nothing does not notice its end.
    if (!this.#isReliable) throw new Error('the namespace has ended');
    this.code = code;
    this.#running = { id, segments: 0, digest: cellDigest(code, moment) };
    return this.#advance(await this.executor.begin(code, moment));
  }

  /** Continues the cell that waits for calls. */
  async resume(results: readonly CodeCallResult[]): Promise<RanSegment> {
    return this.#advance(await this.executor.resume(results));
  }

  /** Begins the journal anew, after a checkpoint. */
  checkpointed(after: string): void {
    this.#cells = 0;
    this.#after = after;
    this.cellMs = 0;
  }

  /** Ends the executor. Never rejects. */
  async kill(): Promise<void> {
    this.#isReliable = false;
    await this.executor.close().catch(() => undefined);
  }

  #advance(ran: Segment): RanSegment {
    const segment = cleanSegment(ran);
    const running = this.#running;
    this.cellMs += segment.durationMs;
    this.#isReliable &&= !isEnding(segment);
    if (!this.#isReliable || running === undefined) return { segment };
    const digest = segmentDigest(running.digest, segment);
    this.#after = digest;
    if (segment.type === 'calls') {
      this.#running = { ...running, segments: running.segments + 1, digest };
      this.#memoryBytes = segment.memoryUsedBytes ?? this.#memoryBytes;
      return { segment, digest };
    }
    this.#running = undefined;
    this.#cells += 1;
    const { success, namespace, memoryUsedBytes } = segment.result;
    if (success) this.names = Object.keys(namespace);
    this.#memoryBytes = memoryUsedBytes;
    return { segment, digest };
  }
}

/** True for the end of a cell after which its namespace must not be used. */
function isEnding(segment: Segment): boolean {
  return segment.type === 'ended' && segment.result.error !== null && EMPTYING_ERROR_KINDS.has(segment.result.error.kind);
}

/** 132 bits in base64url, as in the digest of a call. */
const DIGEST_LENGTH = 22;

/** Returns the initial digest of a cell's segments. */
function cellDigest(code: string, { now, seed }: Moment): string {
  return digestOf({ code, now, seed });
}

/**
 * Returns the digest of a segment: of its calls, its output, and at the end of a cell also its final answer and error. `before`, the digest
 * of the cell so far, binds it to the cell and its earlier segments.
 */
function segmentDigest(before: string, segment: Segment): string {
  if (segment.type === 'calls') {
    const calls = segment.calls.map(({ tool, arguments: args }): JsonValue => [tool, args]);
    return digestOf({ before, calls, output: segment.output });
  }
  const { output, isFinal, finalValue, error } = segment.result;
  return digestOf({
    before,
    output,
    ...(isFinal ? { final: finalValue } : {}),
    ...(error === null ? {} : { error: [error.kind, error.message] }),
  });
}

function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url').slice(0, DIGEST_LENGTH);
}

/** The place in the run's journal where a segment begins. */
type SegmentPlace = Pick<RunSegmentInput, 'cell' | 'segment' | 'after' | 'eventId' | 'at'>;

/**
 * Returns the position of the namespace that a segment needs, as a unique text: the number of earlier cells and of segments of its own
 * cell, the cell itself, and the digest of the previous segment. A namespace in which an attempt continued and lost its answer has another
 * position, even if the same number of cells have ended in it.
 */
export function positionBefore({ cell, segment, after = '', eventId, at }: SegmentPlace): string {
  return segment === 0
    ? namespacePosition(cell, after)
    : namespacePosition(cell, after, { id: cellId({ eventId, at }), segments: segment });
}

/** Identifies a cell: the event and the index of its call of `run_code`. */
export function cellId({ eventId, at }: Pick<SegmentPlace, 'eventId' | 'at'>): string {
  return `${eventId}/${at[1]}`;
}

/** Returns the position of a namespace in which a number of cells have ended, and another one may wait for calls. */
function namespacePosition(cells: number, after: string, waiting?: { id: string; segments: number }): string {
  return JSON.stringify([cells, after, ...(waiting === undefined ? [] : [waiting.id, waiting.segments])]);
}

/** The maximum number of calls that code may wait for together: their requests and results each travel in one payload. */
const MAX_CALLS = 500;

/**
 * Returns a segment that can be recorded as a whole: texts are well-formed, values are JSON of a bounded depth. A segment whose calls
 * cannot be recorded ends its cell, because it could not be run again.
 */
function cleanSegment(segment: Segment): Segment {
  if (segment.type === 'ended') return { ...segment, result: cleanResult(segment.result) };
  const { calls, output, durationMs } = segment;
  if (calls.length === 0) return earlyEnd(segment, 'The code waits for calls and has made none');
  if (calls.length > MAX_CALLS) {
    return earlyEnd(segment, `The code made ${calls.length} calls at once, more than ${MAX_CALLS}: make fewer of them together`);
  }
  const cleaned: CodeCall[] = [];
  for (const { tool, arguments: given } of calls) {
    const args = cleanJson(given);
    if (!isJsonObject(args)) {
      return earlyEnd(segment, `The arguments of a call of "${tool}" are not JSON, or nested deeper than ${MAX_JSON_DEPTH} levels`);
    }
    cleaned.push({ tool: tool.toWellFormed(), arguments: args });
  }
  return { ...segment, calls: cleaned, output: output.toWellFormed(), durationMs };
}

/** Returns the end of a cell that must not continue, although its code waits for calls. */
export function earlyEnd(segment: Segment & { type: 'calls' }, message: string): Segment & { type: 'ended' } {
  const { output, durationMs, memoryUsedBytes = 0 } = segment;
  return { type: 'ended', result: failed({ output, durationMs, memoryUsedBytes }, { kind: 'killed', message }), durationMs };
}

type CellResult = (Segment & { type: 'ended' })['result'];

function cleanResult(result: CellResult): CellResult {
  const output = result.output.toWellFormed();
  if (result.error !== null) {
    return { ...result, output, error: { kind: result.error.kind, message: result.error.message.toWellFormed() } };
  }
  if (!result.isFinal) return { ...result, output };
  const finalValue = cleanJson(result.finalValue);
  if (finalValue !== undefined) return { ...result, output, finalValue };
  const message = `The final answer is not JSON, or nested deeper than ${MAX_JSON_DEPTH} levels`;
  return { ...failed({ ...result, output }, { kind: 'runtime', message }), namespace: result.namespace };
}

/** The bounds of a cache of namespaces. */
export interface NamespaceBounds {
  /** The maximum number of code namespaces that a worker keeps in memory. */
  namespaces: number;
  /** Megabytes (1,048,576 bytes each) of all of them together. */
  megabytes: number;
  /** Milliseconds for which a namespace waits for the results of calls. */
  waitingMs: number;
  /** Milliseconds for which a namespace waits for the next cell: an ended run's namespace is dropped after this time. */
  idleMs: number;
}

/** The default bounds of a worker. */
const DEFAULT_NAMESPACE_BOUNDS: NamespaceBounds = { namespaces: 32, megabytes: 1_024, waitingMs: 60_000, idleMs: 300_000 };

const MEGABYTE = 1_048_576;

interface CachedNamespace {
  /** The execution that it belongs to: after a reset, positions repeat with other values. */
  execution: string;
  namespace: Namespace;
}

/**
 * The namespaces of runs whose cells this process has run, each with a live executor. The cache decides how soon a segment can begin, never
 * what it sees: a segment only gets a namespace at exactly its starting position. While a segment runs, its namespace is not in the cache,
 * so that no other attempt can get it.
 */
export class NamespaceCache {
  readonly #kept: LRUCache<string, CachedNamespace>;
  readonly #bounds: NamespaceBounds;

  constructor(bounds: Partial<NamespaceBounds> = {}) {
    this.#bounds = { ...DEFAULT_NAMESPACE_BOUNDS, ...bounds };
    this.#kept = new LRUCache({
      max: this.#bounds.namespaces,
      maxSize: this.#bounds.megabytes * MEGABYTE,
      sizeCalculation: ({ namespace }) => Math.max(1, Math.ceil(namespace.bytes)),
      // Its timers do not keep the process alive.
      ttlAutopurge: true,
      ttl: this.#bounds.idleMs,
      dispose: ({ namespace }, _, reason) => {
        if (reason !== 'delete') void namespace.kill();
      },
    });
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Removes and returns the namespace of a run if it is at the position; ends a namespace at another position, and returns undefined. */
  take({ chain, execution }: RunKey, position: string): Namespace | undefined {
    const kept = this.#kept.get(chain);
    if (kept === undefined) return undefined;
    this.#kept.delete(chain);
    if (kept.execution === execution && kept.namespace.position === position) return kept.namespace;
    void kept.namespace.kill();
    return undefined;
  }

  /** Keeps the namespace of a run, replacing an earlier one. Ends the least recently used namespaces if there are too many. */
  put({ chain, execution }: RunKey, namespace: Namespace): void {
    const kept = { execution, namespace };
    this.#kept.set(chain, kept, { ttl: namespace.isWaiting ? this.#bounds.waitingMs : this.#bounds.idleMs });
    // A namespace larger than the whole cache is not kept.
    if (this.#kept.peek(chain) !== kept) void namespace.kill();
  }

  /** Ends all namespaces. */
  async close(): Promise<void> {
    const all = [...this.#kept.values()];
    this.#kept.clear();
    await Promise.all(all.map(({ namespace }) => namespace.kill()));
  }
}
