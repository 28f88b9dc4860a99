import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { DevServerError } from './dev-server-error.ts';
import type { GuardedProcess } from './guarded-process.ts';
import { isReachable } from './reachable.ts';

const POLL_MS = 50;
const ATTEMPT_MS = 1_000;

/** The server to wait for, and the time limit. */
export interface ReadyBounds {
  address: string;
  namespace: string;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Waits until the server answers for its namespace. Throws a `DevServerError` with the end of its log when it dies or
 * does not answer in time, and the signal's reason on abort.
 */
export async function awaitReady(server: GuardedProcess, bounds: ReadyBounds): Promise<void> {
  const deadline = performance.now() + bounds.timeoutMs;
  while (!(await answers(bounds))) {
    bounds.signal?.throwIfAborted();
    if (server.hasEnded()) throw new DevServerError(`The Temporal server ended before it was ready. ${logTail(server)}`);
    if (performance.now() > deadline) {
      throw new DevServerError(
        `The Temporal server did not answer at "${bounds.address}" within ${bounds.timeoutMs / 1000} s. ${logTail(server)}`,
      );
    }
    await Promise.race([delay(POLL_MS), server.ended]);
  }
}

/** Returns the last lines that a server printed, as a sentence of an error message. */
export function logTail(server: GuardedProcess): string {
  const lines = server.output().trim().split('\n').slice(-15);
  return lines.join('') === '' ? 'Its log is empty.' : `Its log ends with:\n${lines.join('\n')}`;
}

async function answers({ address, namespace, signal }: ReadyBounds): Promise<boolean> {
  // A gRPC client that finds no listener backs off, and would notice the server a second late.
  if (!(await isReachable(address, ATTEMPT_MS, signal))) return false;
  try {
    const connection = await Connection.connect({ address, connectTimeout: ATTEMPT_MS });
    try {
      await connection.withDeadline(Date.now() + ATTEMPT_MS, () => connection.workflowService.describeNamespace({ namespace }));
      return true;
    } finally {
      await connection.close();
    }
  } catch {
    return false;
  }
}
