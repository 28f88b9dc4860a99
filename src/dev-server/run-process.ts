import { setTimeout as delay } from 'node:timers/promises';
import { startProcess, type ProcessSpec } from './guarded-process.ts';

const GRACE_MS = 2_000;

/** The end of a program: its exit code and the end of what it printed. */
export interface ProcessOutcome {
  code: number | null;
  output: string;
}

/** Limits of a program's run: a signal, a time limit in milliseconds, or both. */
export interface ProcessBounds {
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
}

/**
 * Runs a program to its end. Throws the signal's reason on abort, and an error when the time limit has passed; in
 * both cases the program is ended completely.
 */
export async function runProcess(spec: ProcessSpec, bounds: ProcessBounds): Promise<ProcessOutcome> {
  bounds.signal?.throwIfAborted();
  const running = startProcess(spec);
  const settled = new AbortController();
  const cut = waitForCut(bounds, settled.signal);
  const end = await Promise.race([running.ended, cut]);
  settled.abort();
  if (end === 'cut') {
    await running.stop(GRACE_MS);
    bounds.signal?.throwIfAborted();
    throw new Error(`did not end within ${(bounds.timeoutMs ?? 0) / 1000} s`);
  }
  return { code: end.code, output: running.output() };
}

async function waitForCut(bounds: ProcessBounds, settled: AbortSignal): Promise<'cut'> {
  const signal = bounds.signal === undefined ? settled : AbortSignal.any([bounds.signal, settled]);
  await delay(bounds.timeoutMs ?? 2 ** 31 - 1, undefined, { signal, ref: false }).catch(() => undefined);
  return 'cut';
}
