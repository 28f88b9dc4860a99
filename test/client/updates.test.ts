import { type Client, ServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, defaultDataConverter, type PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { setImmediate as turn } from 'node:timers/promises';
import { createCodecs } from '../../src/codec/with-codec.ts';
import { repeatable, throttleOf, updateRun } from '../../src/client/updates.ts';
import { UPDATES } from '../../src/core/protocol.ts';
import { type RunApproval, RunHandle } from '../../src/client/index.ts';
import type { ApprovalView } from '../../src/core/domain/approvals.ts';
import type { WaitingNotice } from '../../worker/index.ts';
import { waiting } from '../cli/pending-approvals.ts';

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

/** A client whose server answers Updates in these ways, in order. */
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

/** The refusal of a server where the last attempts of a workflow task have failed. */
function refusedInFailedState(): never {
  const details = 'Unable to perform workflow execution update due to Workflow Task in failed state.';
  const cause = Object.assign(new Error(`9 FAILED_PRECONDITION: ${details}`), { code: 9, details, metadata: {} });
  throw new ServiceError('Workflow Update failed', { cause });
}

test('an Update is resent if its run has lost workflow tasks, for example with a killed worker', async () => {
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

describe('the throttle of Updates', () => {
  /** An Update that is being sent to the server. */
  interface OnItsWay {
    argument: unknown;
    answer(value: unknown): void;
    fail(error: Error): void;
  }

  /** A client whose Updates are answered by the test. */
  function fakeClient(): { client: Client; sent: OnItsWay[] } {
    const sent: OnItsWay[] = [];
    const executeUpdate = (_name: string, { args: [argument] }: { args: unknown[] }): Promise<unknown> =>
      new Promise((resolve, reject) => sent.push({ argument, answer: resolve, fail: reject }));
    const client = { workflow: { getHandle: () => ({ executeUpdate }) }, withDeadline: (_: number, send: () => unknown) => send() };
    return { client: client as unknown as Client, sent };
  }

  function shed(code: number, details: string): Error {
    const cause = Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });
    return new ServiceError('Workflow Update failed', { cause });
  }

  afterEach(() => {
    vi.useRealTimers();
  });

  test('messages of one client to one run are sent one at a time, in order', async () => {
    const { client, sent } = fakeClient();
    const answers = ['a', 'b', 'c'].map((argument) => updateRun(client, 'run', { name: UPDATES.send, argument }));
    for (const [index, text] of ['a', 'b', 'c'].entries()) {
      await turn();
      expect(sent.map(({ argument }) => argument)).toEqual(['a', 'b', 'c'].slice(0, index + 1));
      sent[index]?.answer(`took ${text}`);
    }
    expect(await Promise.all(answers)).toEqual(['took a', 'took b', 'took c']);
  });

  test('decisions are sent two at a time, and neither they nor other runs wait for messages', async () => {
    const { client, sent } = fakeClient();
    const messages = [1, 2].map((argument) => updateRun(client, 'run', { name: UPDATES.send, argument }));
    const decisions = [3, 4, 5, 6, 7].map((argument) => updateRun(client, 'run', { name: UPDATES.approve, argument }));
    const other = updateRun(client, 'other run', { name: UPDATES.send, argument: 8 });
    await turn();
    expect(sent.map(({ argument }) => argument)).toEqual([1, 3, 4, 8]);
    while (sent.length < 8) {
      for (const one of sent) one.answer(one.argument);
      await turn();
    }
    for (const one of sent) one.answer(one.argument);
    expect(await Promise.all([...messages, ...decisions, other])).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('a message that waits for an unanswered one is given up at its own deadline, and never sent', async () => {
    const { client, sent } = fakeClient();
    const first = updateRun(client, 'run', { name: UPDATES.send, argument: 'first' });
    await expect(updateRun(client, 'run', { name: UPDATES.send, argument: 'second' }, { timeout: 20 })).rejects.toMatchObject({
      code: 'wait_timeout',
      message: expect.stringContaining('the earlier requests of this client were not accepted') as string,
    });
    sent[0]?.answer('taken');
    expect(await first).toBe('taken');
    await turn();
    expect(sent).toHaveLength(1);
  });

  test.each([
    [8, 'limit on number of concurrent in-flight updates has been reached (10)'],
    [14, 'workflow update was aborted'],
  ])('if the server sheds an Update (%i), it is resent later, and the next one waits longer', async (code, details) => {
    vi.useFakeTimers();
    const { client, sent } = fakeClient();
    const taken = updateRun(client, 'run', { name: UPDATES.send, argument: 'a' });
    await vi.advanceTimersByTimeAsync(0);
    sent[0]?.fail(shed(code, details));
    // The wait is at least half of the pause: a client that retries at once is shed again, and has other Updates aborted.
    await vi.advanceTimersByTimeAsync(150);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(sent).toHaveLength(2);
    sent[1]?.answer('taken');
    expect(await taken).toBe('taken');
    const next = updateRun(client, 'run', { name: UPDATES.send, argument: 'b' });
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1_000);
    sent[2]?.answer('taken too');
    expect(await next).toBe('taken too');
  });

  test('a run that has continued as new gets the Update again at once, without a pause', async () => {
    vi.useFakeTimers();
    const { client, sent } = fakeClient();
    const taken = updateRun(client, 'run', { name: UPDATES.send, argument: 'a' });
    await vi.advanceTimersByTimeAsync(0);
    sent[0]?.fail(shed(8, 'workflow operation can not be applied because workflow is closing'));
    await vi.advanceTimersByTimeAsync(40);
    sent[1]?.answer('taken');
    expect(await taken).toBe('taken');
    void updateRun(client, 'run', { name: UPDATES.send, argument: 'b' });
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).toHaveLength(3);
  });

  test('the pause of a run is forgotten after a while without requests', async () => {
    const { client } = fakeClient();
    const lane = throttleOf(client, 'run', 'messages');
    await lane.throttled(Date.now() + 1_000, () => Promise.resolve(lane.congested(Date.now())));
    expect(throttleOf(client, 'run', 'messages')).toBe(lane);
    vi.useFakeTimers({ now: Date.now() + 11_000 });
    expect(throttleOf(client, 'run', 'messages')).not.toBe(lane);
  });
});

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

describe('the id of an Update', () => {
  const message = { id: 'm1', content: 'yes', mode: undefined };
  const as = (...payloadCodecs: PayloadCodec[]): Pick<Client, 'options'> =>
    ({ options: { loadedDataConverter: { payloadCodecs } } }) as unknown as Pick<Client, 'options'>;
  const [compression, none] = createCodecs({ compression: { threshold: 0 } });
  const [, encryption] = createCodecs({ encryption: { keys: { k: new Uint8Array(32) }, activeKeyId: 'k' } });

  test('is the same for a repetition, and another one for another content, another sender, or another kind of request', async () => {
    const first = await repeatable(as(compression, none), 'send', message);
    expect(first.updateId).toMatch(/^send m1 [\da-f]{32}$/);
    expect(await repeatable(as(), 'send', { content: 'yes', id: 'm1' })).toEqual(first);
    const others = await Promise.all([
      repeatable(as(), 'send', { ...message, content: 'no' }),
      repeatable(as(), 'send', { ...message, principal: { tenant: 'acme' } }),
      repeatable(as(), 'raise', message),
      repeatable(as(), 'send', message, 'a key'),
    ]);
    expect(new Set([first, ...others].map(({ updateId }) => updateId)).size).toBe(5);
  });

  test('says nothing about the content if payloads are encrypted: its digest needs a key', async () => {
    expect(await repeatable(as(compression, encryption), 'send', message)).toEqual({});
    expect(await repeatable(as(encryption), 'send', message, 'a key')).toEqual(await repeatable(as(), 'send', message, 'a key'));
  });
});

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

  test('without an answer is not sent', async () => {
    const { client, asked } = countingClient();
    await expect(new RunHandle(client, 'clerk-1').respond(waiting(), undefined as never)).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'The decision on call "c1" was not sent: missing required field "content"',
    });
    expect(asked).toEqual([]);
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
