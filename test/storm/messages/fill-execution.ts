import type { LonghaulClient } from '../../../src/client/index.ts';
import { errorMessage } from '../../../src/core/domain/errors/error.ts';

/** More than one execution may ever accept. */
const MOST_UPDATES = 2_000;
/** An Update that is not taken in so many milliseconds will not be. */
const PATIENCE_MS = 3_000;
/** Several at once from each client: one after the other they would not come to the limit in time. */
const AT_ONCE = 4;

/** What came of it. */
export interface FilledExecution {
  /** Updates that were accepted. */
  accepted: number;
  /** What the run said when it accepted no more; undefined where it never did. */
  refusal?: string;
}

/** Sends Updates that change nothing, from all clients at once, until the execution takes no more. */
export async function fillExecution(clients: readonly LonghaulClient[], runId: string, untilMs: number): Promise<FilledExecution> {
  const filled: FilledExecution = { accepted: 0 };
  await Promise.all(
    clients
      .flatMap((client) => Array.from({ length: AT_ONCE }, () => client.handle(runId)))
      .map(async (run) => {
        while (filled.refusal === undefined && filled.accepted < MOST_UPDATES && Date.now() < untilMs) {
          try {
            await run.resume({ timeout: PATIENCE_MS });
            filled.accepted += 1;
          } catch (error) {
            filled.refusal ??= errorMessage(error);
          }
        }
      }),
  );
  return filled;
}
