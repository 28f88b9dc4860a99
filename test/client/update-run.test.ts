import { type Client, ServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, defaultDataConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { expect, test } from 'vitest';
import { updateRun } from '../../src/client/updates.ts';
import { UPDATES } from '../../src/core/protocol.ts';

/** The workflow of a run, as the server describes it. */
const DESCRIPTION = temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse.fromObject({
  workflowExecutionInfo: {
    execution: { workflowId: 'run-1', runId: 'execution-1' },
    type: { name: 'agentRun' },
    status: 1,
    startTime: { seconds: 1, nanos: 0 },
    historyLength: 1,
  },
});

/** A client whose server answers an Update in these ways, one after the other. */
function clientWith(...answers: (() => unknown)[]): { client: Client; sent: () => number } {
  let sent = 0;
  const executeUpdate = async (): Promise<unknown> => {
    sent += 1;
    return answers[sent - 1]?.();
  };
  const client = {
    workflow: { getHandle: () => ({ executeUpdate }) },
    withDeadline: (_: number, send: () => unknown) => send(),
    options: { loadedDataConverter: defaultDataConverter, interceptors: { workflow: [{ describe: async () => DESCRIPTION }] } },
  };
  return { client: client as unknown as Client, sent: () => sent };
}

function refusedBecause(type: string): () => never {
  return () => {
    throw new WorkflowUpdateFailedError('Workflow Update failed', ApplicationFailure.nonRetryable(`because of ${type}`, type));
  };
}

test.each(['UnprocessedUpdate', 'AcceptedUpdateCompletedWorkflow', 'busy', 'queue_full'])(
  'an Update that the server or the run refuses for now ("%s") is sent again',
  async (type) => {
    const { client, sent } = clientWith(refusedBecause(type), () => ({ paused: true }));
    expect(await updateRun(client, 'run-1', { name: UPDATES.pause })).toEqual({ paused: true });
    expect(sent()).toBe(2);
  },
);

/** The refusal of a server on which the last attempts of a workflow task have failed. */
function refusedInFailedState(): never {
  const details = 'Unable to perform workflow execution update due to Workflow Task in failed state.';
  const cause = Object.assign(new Error(`9 FAILED_PRECONDITION: ${details}`), { code: 9, details, metadata: {} });
  throw new ServiceError('Workflow Update failed', { cause });
}

test('an Update is sent again whose run has lost workflow tasks, for example with a worker that was killed', async () => {
  const { client, sent } = clientWith(refusedInFailedState, () => ({ paused: true }));
  expect(await updateRun(client, 'run-1', { name: UPDATES.pause })).toEqual({ paused: true });
  expect(sent()).toBe(2);
});

test('an Update of a run whose workflow tasks fail all the time ends with the reason, and says where to look', async () => {
  const { client } = clientWith(...Array.from({ length: 20 }, () => refusedInFailedState));
  const pausing = updateRun(client, 'run-1', { name: UPDATES.pause }, { timeout: 200 });
  const message = expect.stringMatching(/\(its last workflow tasks have failed: its worker may log the reason\)/) as string;
  await expect(pausing).rejects.toMatchObject({ code: 'wait_timeout', message });
});

test('an Update that no worker processes ends with the reason once its time is over', async () => {
  const { client } = clientWith(...Array.from({ length: 20 }, () => refusedBecause('UnprocessedUpdate')));
  const pausing = updateRun(client, 'run-1', { name: UPDATES.pause }, { timeout: 200 });
  await expect(pausing).rejects.toMatchObject({ code: 'wait_timeout', message: expect.stringContaining('because of UnprocessedUpdate') });
});

test('the reason of an Update that was not answered does not have the text of the connection, which names addresses', async () => {
  const details = 'Deadline exceeded after 9.989s,LB pick: 0.001s,remote_addr=10.0.0.7:7233';
  const silent = (): never => {
    throw new ServiceError('Workflow Update failed', {
      cause: Object.assign(new Error(`4 DEADLINE_EXCEEDED: ${details}`), { code: 4, details, metadata: {} }),
    });
  };
  const { client } = clientWith(...Array.from({ length: 20 }, () => silent));
  const pausing = updateRun(client, 'run-1', { name: UPDATES.pause }, { timeout: 200 });
  const message = 'Run "run-1" did not accept "pause" in time (no worker has answered: is one running?). Send it again';
  await expect(pausing).rejects.toMatchObject({ code: 'wait_timeout', message });
});
