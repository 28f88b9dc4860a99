import type { RunHandle } from '../../../../client/run-handle.ts';
import type { RunResult } from '../../../../core/domain/result.ts';
import { valueWithin } from '../../../requests/bounded-wait.ts';

/** The longest time that a request without a stream waits, in milliseconds: Node's `fetch` gives up after five minutes without headers. */
const LONGEST_MS = 240_000;

/** The time that a response needs to reach a client whose own time-out is near. */
const ON_THE_WAY_MS = 2_000;

/** Returns the milliseconds for which a request waits for its answer: the package sends its own time-out, in seconds. */
export function answerWaitMs(headers: Headers): number {
  const seconds = Number(headers.get('x-stainless-timeout') ?? '');
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(LONGEST_MS, Math.max(1_000, seconds * 1_000 - ON_THE_WAY_MS)) : LONGEST_MS;
}

/** Waits for the result of a run within the time of a request. Undefined if the run goes on: a caller that stops waiting ends nothing. */
export function awaitResult(
  handle: Pick<RunHandle<unknown>, 'result'>,
  { raw, signal, steps = false }: { raw: Request; signal: AbortSignal; steps?: boolean },
): Promise<RunResult<unknown> | undefined> {
  return valueWithin(answerWaitMs(raw.headers), signal, (options) => handle.result({ ...options, steps }));
}
