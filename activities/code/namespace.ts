import { createHash } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../src/core/domain/json/json.ts';
import { EMPTYING_ERROR_KINDS } from '../../src/core/execution/execution-result.ts';
import type { CodeCallResult, Executor, Moment, Segment } from '../../src/core/execution/executor.ts';
import { cleanSegment } from './clean-segment.ts';
import { position } from './namespace-position.ts';

/** Bytes that an executor takes beside the values of its code. */
const EXECUTOR_BYTES = 8_000_000;

/** A cell, as it is run. */
interface Cell {
  /** Identifies the cell in its run. */
  id: string;
  code: string;
  moment: Moment;
}

/** A segment that has run. Without a digest the cell is over, and its values are not to be relied on. */
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
  /** The names that code has declared, as far as they are known. */
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
    return position(this.#cells, this.#after, this.#running);
  }

  /** True if a cell waits for its calls. */
  get isWaiting(): boolean {
    return this.#running !== undefined;
  }

  /** False if a cell has ended in a way after which the namespace must not be used. */
  get isReliable(): boolean {
    return this.#isReliable;
  }

  /** Bytes of memory that it takes, as far as its executor tells. */
  get bytes(): number {
    return EXECUTOR_BYTES + this.#memoryBytes;
  }

  /** Runs a cell up to its first calls, or to its end. */
  async begin({ id, code, moment }: Cell): Promise<RanSegment> {
    // An executor that has run nothing takes no notice of its end.
    if (!this.#isReliable) throw new Error('the namespace has ended');
    this.code = code;
    this.#running = { id, segments: 0, digest: cellDigest(code, moment) };
    return this.#advance(await this.executor.begin(code, moment));
  }

  /** Goes on with the cell that waits for calls. */
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

/** Returns the digest that the segments of a cell begin with. */
function cellDigest(code: string, { now, seed }: Moment): string {
  return digestOf({ code, now, seed });
}

/**
 * Returns the digest of a segment: of its calls, of what it printed, and at the end of a cell also of its final answer and its error. It
 * is bound to the cell and the segments before by `before`, their digest.
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
