import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { type RunApproval, RunHandle } from '../../src/client/index.ts';
import type { ApprovalView } from '../../src/core/domain/approvals.ts';
import type { WaitingNotice } from '../../worker/index.ts';
import { waiting } from '../cli/pending-approvals.ts';

/**
 * A client of a run with the pending call `c1`, and the requests that it sends to the server. `refusal`: the run's answer to
 * decisions.
 */
function countingClient(refusal?: string): { client: Client; asked: unknown[] } {
  const asked: unknown[] = [];
  const handle = {
    describe: () => {
      asked.push('describe');
      return Promise.reject(new Error('not asked'));
    },
    query: (name: string) => {
      asked.push(`query ${name}`);
      return Promise.reject(new Error('not asked'));
    },
    executeUpdate: (name: string, { args: [argument] }: { args: [{ callId: string; digest: string }] }) => {
      asked.push([`update ${name}`, argument.callId, argument.digest]);
      if (refusal === undefined) return Promise.resolve({ version: 1, status: 'decided' });
      return Promise.reject(new WorkflowUpdateFailedError('refused', ApplicationFailure.nonRetryable('It is too late', refusal)));
    },
  };
  const client = {
    options: { namespace: 'default', loadedDataConverter: { payloadCodecs: [] } },
    workflow: { getHandle: () => handle },
    withDeadline: (_: number, work: () => Promise<unknown>) => work(),
  };
  return { client: client as unknown as Client, asked };
}

describe('a decision on a listed approval', () => {
  test('is sent with the data of the listing, and no other request is made', async () => {
    const { client, asked } = countingClient();
    const run = new RunHandle(client, 'clerk-1');
    await run.approve(waiting());
    await run.reject(waiting({ digest: 'as it was shown' }), { reason: 'no' });
    await run.respond({ ...waiting(), runId: 'clerk-1' }, { colour: 'green' });
    expect(asked).toEqual([
      ['update approve', 'c1', 'digest of c1'],
      ['update reject', 'c1', 'as it was shown'],
      ['update respond', 'c1', 'digest of c1'],
    ]);
  });

  test.each(['digest_mismatch', 'already_decided'])('that is stale is refused with %s', async (code) => {
    const { client, asked } = countingClient(code);
    await expect(new RunHandle(client, 'clerk-1').approve(waiting({ digest: 'stale' }))).rejects.toMatchObject({ code });
    expect(asked).toEqual([['update approve', 'c1', 'stale']]);
  });

  test('of another run is not sent', async () => {
    const { client, asked } = countingClient();
    await expect(new RunHandle(client, 'clerk-1').approve({ ...waiting(), runId: 'clerk-2' })).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'The decision on call "c1" was not sent: it waits in run "clerk-2", not in run "clerk-1"',
    });
    expect(asked).toEqual([]);
  });
});

test('a decision needs a listed approval or a call id, and nothing else is accepted', () => {
  expect(async (run: RunHandle, pending: ApprovalView, listed: RunApproval, notice: WaitingNotice) => {
    await run.approve(pending, { by: 'ann' });
    await run.reject(listed, { reason: 'no' });
    await run.respond(notice, 'yes');
    await run.approve('c1', { arguments: { amount: 3 } });
    await run.reject({ callId: 'c1', digest: 'kept' });
    // @ts-expect-error Without a digest it does not say what was shown.
    await run.approve({ callId: 'c1' });
    // @ts-expect-error The digest comes with the listed approval.
    await run.approve('c1', { digest: 'd' });
    // @ts-expect-error One decision is about one call.
    await run.approve([pending]);
  }).toBeTypeOf('function');
});
