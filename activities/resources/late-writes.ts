import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { RunState } from '../../src/temporal/run-state.ts';

/** A run as an activity of it sees it. */
export interface WritingRun {
  runId: string;
  /** Asks the server for the state of the execution that the activity belongs to. */
  state(): Promise<RunState>;
  /** Asks the server if it has no run of that id any more, also no newer one. */
  isGone(): Promise<boolean>;
}

/** A write to a store beside the server. */
export interface RunWrite<Value> {
  write: () => Promise<Value>;
  /** Removes what was written. Called only if the server has removed the execution. `isGone`: no newer run has that id. */
  undo: (isGone: boolean) => Promise<unknown>;
}

/** The times of a guard, in milliseconds. */
export interface GuardTimes {
  /** Between two questions about a run that has ended. */
  everyMs: number;
  /** The longest time of such questions. The server removes a run within a minute or so. */
  untilMs: number;
}

const TIMES: GuardTimes = { everyMs: 2_000, untilMs: 180_000 };

/** No retention of the server is shorter: a run that was open so recently was removed by a caller. */
const SHORTEST_RETENTION_MS = 3_600_000;

/**
 * Writes for a run so that nothing is left of a run that a caller removes. A run that has ended is refused with `run_ended`. A write that
 * was begun before, by a call that outlives its run, may still come after the removal of its content: once it is done, the run is looked
 * up again, without delay for the caller, and is watched if it has ended meanwhile; if it is then removed, so is what was written. A
 * server that does not answer refuses no write.
 */
export async function guardedWrite<Value>(
  run: WritingRun,
  { write, undo }: RunWrite<Value>,
  { log, times = TIMES }: { log: (line: string) => void; times?: GuardTimes },
): Promise<Value> {
  const begun = Date.now();
  const before = await stateOf(run);
  if (before === 'closed' || before === 'gone') {
    throw new LonghaulError('run_ended', `Run "${run.runId}" has ended: nothing is stored for it any more`);
  }
  try {
    return await write();
  } finally {
    void undoIfRemoved(run, { begun, undo, times }).catch((error: unknown) => {
      log(`Run "${run.runId}" was removed while a call of it wrote, and what it wrote could not be removed: ${errorMessage(error)}`);
    });
  }
}

async function undoIfRemoved(
  run: WritingRun,
  { begun, undo, times: { everyMs, untilMs } }: { begun: number; undo: (isGone: boolean) => Promise<unknown>; times: GuardTimes },
): Promise<void> {
  for (const end = performance.now() + untilMs; performance.now() < end;) {
    const state = await stateOf(run);
    // What was written while the run went on is removed with the run.
    if (state === 'open') return;
    if (state === 'gone') {
      if (Date.now() - begun < SHORTEST_RETENTION_MS) await undo(await run.isGone());
      return;
    }
    await sleep(everyMs, undefined, { ref: false });
  }
}

async function stateOf(run: WritingRun): Promise<RunState | 'unknown'> {
  try {
    return await run.state();
  } catch {
    return 'unknown';
  }
}
