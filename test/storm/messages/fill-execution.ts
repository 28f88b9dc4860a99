import type { LonghaulClient } from '../../../src/client/index.ts';
import { errorMessage } from '../../../src/core/domain/errors.ts';

/** More Updates than one execution accepts. */
const MOST_UPDATES = 2_000;
/** The time after which an unanswered Update counts as refused. */
const PATIENCE_MS = 3_000;
/** Each client sends several at a time: sequentially they would not reach the limit in time. */
const AT_ONCE = 4;

/** The outcome. */
export interface FilledExecution {
  /** The number of accepted Updates. */
  accepted: number;
  /** The refusal of the run when it was full; undefined if it never refused. */
  refusal?: string;
}

/** Sends Updates that change nothing, from all clients at the same time, until the execution is full. */
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
