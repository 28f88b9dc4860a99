import type { Client } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { QueriedRun } from '../../core/queries/queried-run.ts';
import { answerQuery } from '../../core/queries/queries.ts';
import { QUERIES } from '../../core/protocol.ts';
import { roundTrip } from './payload-round-trip.ts';

/** Returns the client with which activities query their run, or the run that has started it. `slowMs` returns the delay of each answer. */
export function memoryClient(run: (runId: string) => QueriedRun, slowMs: () => number): Client {
  const query = async (runId: string, name: string, question: unknown): Promise<unknown> => {
    const delayMs = slowMs();
    if (delayMs > 0) await sleep(delayMs);
    const known = Object.entries(QUERIES).find(([, one]) => one === name);
    if (known === undefined) throw new Error(`The run has no query "${name}"`);
    return roundTrip(answerQuery(run(runId), known[0] as keyof typeof QUERIES, roundTrip(question)));
  };
  const unbounded = (_: unknown, work: () => unknown): unknown => work();
  // These are the only parts of a client that activities use.
  const parts: object = {
    withDeadline: unbounded,
    withAbortSignal: unbounded,
    workflow: { getHandle: (runId: string) => ({ query: (name: string, question: unknown) => query(runId, name, question) }) },
    options: {
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] },
    },
  };
  return parts as Client;
}
