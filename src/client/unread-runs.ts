import type { Client } from '@temporalio/client';
import { type ErrorCode, errorCode, errorMessage, LonghaulError } from '../core/domain/errors.ts';
import { object, type ObjectOf, type Shape, shape, TEXT } from '../core/domain/shape.ts';
import { explainedError } from '../temporal/server-calls.ts';
import { inBatches } from '../temporal/waiting.ts';

export const UNREAD_RUN_MEMBERS = {
  /** The id of the run. */
  runId: TEXT,
  /** Why it could not be read: a code of the page of errors. */
  code: shape<ErrorCode>(TEXT),
  /** The reason in words. */
  message: TEXT,
};

/** A run of a list that could not be read, so that what the list should say about it is missing. */
export interface UnreadRun extends ObjectOf<typeof UNREAD_RUN_MEMBERS> {}
export const UNREAD_RUN: Shape<UnreadRun> = object(UNREAD_RUN_MEMBERS);

/** The part of a filter that says what becomes of runs that could not be read. */
export interface UnreadRuns {
  /**
   * Called for each run that could not be read. Without it, the list yields everything else and then throws the error of the first of them;
   * a list that is followed reads them again.
   */
  onUnread?: (run: UnreadRun) => void;
}

/** What a run of a list says, or why it could not be read. */
export type RunRead<Value> = { value: Value; unread?: undefined } | { unread: UnreadRun; value?: undefined };

/** The outcome of reading one run of a list. */
type ReadOf<Run, Value> = RunRead<Value> & { run: Run };

/** Runs that are read at the same time. If the server no longer answers for as many in a row, it is down, and the list fails. */
const READ_AT_ONCE = 10;

/**
 * Reads the runs of a list, and yields the outcomes in the order of the runs. One that cannot be read does not fail the list, unless the
 * error concerns all runs.
 */
export async function* readRuns<Run extends { runId: string }, Value>(
  client: Client,
  runs: AsyncIterable<Run> | Iterable<Run>,
  read: (run: Run) => Promise<Value>,
): AsyncGenerator<ReadOf<Run, Value>> {
  let unreachable = 0;
  const outcomeOf = async (run: Run): Promise<{ run: Run } & ({ value: Value } | { error: unknown })> => {
    try {
      return { run, value: await read(run) };
    } catch (error) {
      return { run, error: explainedError(client, error) };
    }
  };
  for await (const outcome of inBatches(runs, READ_AT_ONCE, outcomeOf)) {
    if ('value' in outcome) {
      unreachable = 0;
      yield outcome;
      continue;
    }
    const { run, error } = outcome;
    const code = errorCode(error);
    unreachable = code === 'server_unreachable' ? unreachable + 1 : 0;
    // An error without a code is a defect, or the client was closed.
    if (code === undefined || code === 'namespace_not_found' || unreachable === READ_AT_ONCE) throw error;
    yield { run, unread: { runId: run.runId, code, message: errorMessage(error) } };
  }
}

/** Returns the error of a run that could not be read. */
export function unreadError({ runId, code, message }: UnreadRun): LonghaulError {
  return new LonghaulError(code, `Run "${runId}" could not be read: ${message}`);
}

/** Reports runs that could not be read, or keeps the first of them for the end of the list. */
export class UnreadReport {
  readonly #report: UnreadRuns['onUnread'];
  #first: UnreadRun | undefined;

  constructor({ onUnread }: UnreadRuns) {
    this.#report = onUnread;
  }

  note(run: UnreadRun): void {
    if (this.#report === undefined) this.#first ??= run;
    else this.#report(run);
  }

  /** Throws the error of the first run if nobody was told. */
  end(): void {
    if (this.#first !== undefined) throw unreadError(this.#first);
  }
}
