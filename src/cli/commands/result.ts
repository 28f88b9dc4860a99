import type { CommandIo, ServerFlags } from '../program/command.ts';
import { waitForResult } from './wait-for-result.ts';
import { withRun } from '../with-run.ts';

/** The options of `longhaul result`. */
export interface ResultFlags extends ServerFlags {
  runId: string;
  /** Milliseconds. */
  waitTimeout?: number;
  withSteps?: boolean;
}

/** Waits for the end of a run and prints its answer. */
export async function result(io: CommandIo, { waitTimeout, withSteps = false, ...flags }: ResultFlags): Promise<number> {
  return await withRun(io, flags, async ({ client, runId }) =>
    waitForResult(io, client, client.handle<unknown>(runId), {
      flags,
      steps: withSteps,
      ...(waitTimeout === undefined ? {} : { timeout: waitTimeout }),
    }),
  );
}
