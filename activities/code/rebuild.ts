import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { CodeJournal, JournalCell } from '../../src/core/domain/code/journal.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { attemptNumber, attemptsAllowed } from '../attempts/worker-wait.ts';
import { readCheckpoint } from './checkpoint-store.ts';
import { codeExecutor } from './code-executor.ts';
import { Namespace, type RanSegment } from './namespace.ts';
import { cellId } from './namespace-position.ts';
import { type SegmentWork, withNamespace } from './segment-work.ts';

/** The longest time of a rebuild, in milliseconds. It does not count as time of the cell. */
const LONGEST_MS = 60_000;

/** The names and values of a run that cannot be made again. */
export interface LostNamespace {
  /** The reason, as the end of a sentence. */
  reason: string;
  /** The names that are lost, as far as they are known. */
  names: readonly string[];
}

/** Ends a rebuild. */
class Loss extends Error {}

/**
 * Makes the namespace of a run again, as it was before a segment: restores the checkpoint, and runs the cells since against the
 * recorded results of their calls. A segment that calls or prints something else than is recorded, or an executor that cannot go on,
 * means that the namespace is lost. A store or an executor that fails is tried again first, as long as attempts are left.
 */
export async function rebuildNamespace(work: SegmentWork, journal: CodeJournal): Promise<Namespace | LostNamespace> {
  const { runtime, snapshot, input, attempt } = work;
  const cells = journal.cells.slice(0, input.cell);
  const running = input.segment === 0 ? undefined : journal.cells[input.cell];
  if (cells.length < input.cell || (input.segment > 0 && running === undefined)) throw incomplete(input.cell);
  const namespace = new Namespace(await codeExecutor(runtime, snapshot));
  const limit = new TimeLimit(namespace);
  try {
    return await withNamespace(attempt, namespace, async () => {
      if (journal.checkpoint !== undefined) await restore(work, namespace, journal.checkpoint);
      for (const cell of cells) await runAgain(namespace, { id: '', cell, segments: cell.segments.length });
      if (running !== undefined) await runAgain(namespace, { id: cellId(input), cell: running, segments: input.segment });
      return namespace;
    });
  } catch (error) {
    attempt.throwIfAborted();
    if (limit.isOver) return { reason: `running the earlier cells again took more than ${limit.ms / 1_000} s`, names: namespace.names };
    if (error instanceof Loss) return { reason: error.message, names: namespace.names };
    throw error;
  } finally {
    limit.clear();
  }
}

/** Ends a rebuild that takes too long. */
class TimeLimit {
  readonly ms = Math.min(LONGEST_MS, (activityInfo().startToCloseTimeoutMs || Infinity) / 2);
  isOver = false;
  readonly #timer: NodeJS.Timeout;

  constructor(namespace: Namespace) {
    this.#timer = setTimeout(() => {
      this.isOver = true;
      void namespace.kill();
    }, this.ms);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

async function restore(
  { runtime, attempt }: SegmentWork,
  namespace: Namespace,
  spilled: NonNullable<CodeJournal['checkpoint']>,
): Promise<void> {
  try {
    const { bytes, names } = await readCheckpoint(runtime.payloadStore, spilled, attempt.signal);
    namespace.names = names;
    if (namespace.executor.restore === undefined) throw new Error('the executor cannot restore one');
    await namespace.executor.restore(bytes);
    namespace.checkpointed(spilled.sha256);
  } catch (error) {
    attempt.throwIfAborted();
    throw lostUnlessRetried(`their checkpoint could not be restored: ${errorMessage(error)}`);
  }
}

/** A cell to run again, up to a number of its segments. */
interface CellAgain {
  id: string;
  cell: JournalCell;
  segments: number;
}

async function runAgain(namespace: Namespace, { id, cell, segments }: CellAgain): Promise<void> {
  let ran = await namespace.begin({ id, code: cell.code, moment: cell.moment });
  for (let index = 0; ; index += 1) {
    requireSame(ran, cell.segments[index]?.digest);
    if (index + 1 === segments) return;
    const results = cell.segments[index]?.results;
    if (ran.segment.type !== 'calls' || results?.length !== ran.segment.calls.length) throw differs();
    ran = await namespace.resume(results);
  }
}

/** Throws unless a segment ran as it did before. */
function requireSame({ segment, digest }: RanSegment, recorded: string | undefined): void {
  if (digest === undefined) {
    const error = segment.type === 'ended' ? segment.result.error : null;
    throw lostUnlessRetried(`an earlier cell could not be run again (${error?.kind ?? 'killed'}: ${error?.message ?? 'it was ended'})`);
  }
  if (digest !== recorded) throw differs();
}

function differs(): Loss {
  return new Loss('an earlier cell did something else when it was run again');
}

/** Returns the failure of an attempt after which another may succeed; the loss of the namespace if there is no other. */
function lostUnlessRetried(reason: string): Error {
  if (attemptNumber() >= (attemptsAllowed() ?? Infinity)) return new Loss(reason);
  return ApplicationFailure.create({
    type: 'internal',
    message: `The names and values of earlier cells could not be made again: ${reason}`,
  });
}

function incomplete(cell: number): ApplicationFailure {
  return ApplicationFailure.create({ type: 'transcript_unavailable', message: `The journal of the run lacks cells before cell ${cell}` });
}
