import type { Client } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { QueriedRun } from '../../core/queries/queried-run.ts';
import { answerQuery } from '../../core/queries/queries.ts';
import { QUERIES } from '../../core/protocol.ts';
import { roundTrip } from './payload-round-trip.ts';

/** Returns the client with which activities query their run. `slowMs` returns the delay of each answer. */
export function memoryClient(run: () => QueriedRun, slowMs: () => number): Client {
  const query = async (name: string, question: unknown): Promise<unknown> => {
    const delayMs = slowMs();
    if (delayMs > 0) await sleep(delayMs);
    const known = Object.entries(QUERIES).find(([, one]) => one === name);
    if (known === undefined) throw new Error(`The run has no query "${name}"`);
    return roundTrip(answerQuery(run(), known[0] as keyof typeof QUERIES, roundTrip(question)));
  };
  const unbounded = (_: unknown, work: () => unknown): unknown => work();
  // These are the only parts of a client that activities use.
  const parts: object = {
    withDeadline: unbounded,
    withAbortSignal: unbounded,
    workflow: { getHandle: () => ({ query }) },
    options: {
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] },
    },
  };
  return parts as Client;
}
