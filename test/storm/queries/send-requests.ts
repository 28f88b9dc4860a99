import type { Client } from '@temporalio/client';
import { setTimeout as pause } from 'node:timers/promises';
import { isRetryableQueryError } from '../../../src/temporal/server-calls.ts';
import { type ApprovalsPage, type ApproveInput, QUERIES, scopedName, type SendInput, UPDATES } from '../../../src/core/protocol.ts';

/** A run, or a run inside a user's workflow with its key. */
export interface RunAddress {
  runId: string;
  key?: string;
}

/** The requests that were sent. */
export interface SentRequests {
  queries: number;
  /** The number of queries that were refused with the request to ask again. */
  refused: number;
  msQuery: number[];
  /** Messages that the run has accepted, by their text. */
  messages: string[];
  /** Calls that were approved, by their id. */
  approvals: string[];
}

/** Queries of the Temporal UI. */
const UI_QUERIES = ['__temporal_workflow_metadata', '__stack_trace'];
const LONGEST_PAUSE_MS = 150;
const DEADLINE_MS = 5_000;

/** Sends queries and Updates to the run until it has ended. A failed request is repeated or dropped. Never rejects. */
export async function sendRequests(
  client: Client,
  { runId, key }: RunAddress,
  random: () => number,
  ended: AbortSignal,
): Promise<SentRequests> {
  const sent: SentRequests = { queries: 0, refused: 0, msQuery: [], messages: [], approvals: [] };
  const handle = client.workflow.getHandle(runId);
  const within = <Answer>(call: () => Promise<Answer>): Promise<Answer> => client.withDeadline(Date.now() + DEADLINE_MS, call);

  const ask = async <Answer>(name: string, ...args: unknown[]): Promise<Answer | undefined> => {
    const start = performance.now();
    sent.queries += 1;
    try {
      return await within(() => handle.query<Answer, unknown[]>(name, ...args));
    } catch (error) {
      if (isRetryableQueryError(error)) sent.refused += 1;
      return undefined;
    } finally {
      sent.msQuery.push(performance.now() - start);
    }
  };
  const update = async (name: string, input: SendInput | ApproveInput | { id?: never }): Promise<boolean> => {
    const args: [unknown] = [input];
    return within(() =>
      handle.executeUpdate<unknown, [unknown]>(scopedName(name, key), { args, ...(input.id === undefined ? {} : { updateId: input.id }) }),
    ).then(
      () => true,
      () => false,
    );
  };
  const approveAll = async (): Promise<void> => {
    const page = await ask<ApprovalsPage>(scopedName(QUERIES.approvals, key), { from: 0 });
    for (const { callId, digest } of page?.pending ?? []) {
      const approve: ApproveInput = { callId, digest, id: `${callId}-yes` };
      if (await update(UPDATES.approve, approve)) sent.approvals.push(callId);
    }
  };
  const send = async (): Promise<void> => {
    const content = `message ${sent.messages.length}`;
    if (await update(UPDATES.send, { id: `m${sent.messages.length}`, content })) sent.messages.push(content);
  };

  // A run may be paused by a request whose answer came too late: it is resumed in any case.
  const pauseAwhile = async (): Promise<void> => {
    await update(UPDATES.pause, {});
    do await rest();
    while (!(await update(UPDATES.resume, {})) && !ended.aborted);
  };
  const rest = (): Promise<unknown> => pause(random() * LONGEST_PAUSE_MS, undefined, { signal: ended }).catch(() => undefined);

  while (!ended.aborted) {
    const chance = random();
    if (chance < 0.05) await pauseAwhile();
    else if (chance < 0.4) await approveAll();
    else if (chance < 0.7) await send();
    else await ask(UI_QUERIES[Math.floor(random() * UI_QUERIES.length)] ?? '');
    await rest();
  }
  return sent;
}
