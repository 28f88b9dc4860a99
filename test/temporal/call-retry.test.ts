import { beforeEach, afterEach, expect, test, vi } from 'vitest';
import { CALL_RETRY } from '../../src/temporal/server-connection.ts';
import { GRPC } from '../../src/temporal/server-calls.ts';

const [interceptor] = CALL_RETRY;
if (interceptor === undefined) throw new Error('there is no interceptor');

type Call = Parameters<typeof interceptor>[0];
type NextCall = Parameters<typeof interceptor>[1];

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Makes a call whose attempts end with these statuses. Resolves with the status that the caller gets, and the number of attempts. */
async function called(method: string, attempts: readonly (number | Error)[], deadline?: number): Promise<{ code: number; made: number }> {
  let made = 0;
  const next = (() => {
    const outcome = attempts[made] ?? GRPC.unknown;
    made += 1;
    if (outcome instanceof Error) throw outcome;
    return {
      start: (metadata: object, listener: { onReceiveMessage(message: unknown): void; onReceiveStatus(status: object): void }) => {
        queueMicrotask(() => {
          listener.onReceiveMessage(undefined);
          listener.onReceiveStatus({ code: outcome, details: '', metadata });
        });
      },
      sendMessage: () => undefined,
      sendMessageWithContext: () => undefined,
      halfClose: () => undefined,
    };
  }) as unknown as NextCall;
  const path = `/temporal.api.workflowservice.v1.WorkflowService/${method}`;
  const timed = deadline === undefined ? {} : { deadline };
  const call = interceptor?.({ method_definition: { path }, ...timed } as Call, next);
  const ended = new Promise<number>((resolve) => {
    const listener = {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: () => undefined,
      onReceiveStatus: ({ code }: { code: number }) => resolve(code),
    };
    call?.start({} as never, listener);
    call?.sendMessage({});
    call?.halfClose();
  });
  // Not all timers: in this process, another file may have left a feed of a run, which polls for two seconds more.
  await vi.advanceTimersByTimeAsync(120_000);
  return { code: await ended, made };
}

test('a call that the server could not take is made again', async () => {
  expect(await called('DescribeWorkflowExecution', [GRPC.unavailable, GRPC.resourceExhausted, 0])).toEqual({ code: 0, made: 3 });
  expect(await called('QueryWorkflow', [GRPC.unavailable, 0])).toEqual({ code: 0, made: 2 });
});

test('a call that a part of the server gave up is made again while its own time limit has not passed', async () => {
  expect(await called('DescribeWorkflowExecution', [GRPC.deadlineExceeded, GRPC.deadlineExceeded, 0])).toEqual({ code: 0, made: 3 });
  const always = Array.from({ length: 9 }, () => GRPC.deadlineExceeded);
  expect(await called('ListWorkflowExecutions', always)).toEqual({ code: GRPC.deadlineExceeded, made: 5 });
  // Without a worker, the server answers no query: the history is read instead.
  expect(await called('QueryWorkflow', always)).toEqual({ code: GRPC.deadlineExceeded, made: 1 });
  expect(await called('DescribeWorkflowExecution', always, Date.now() + 500)).toEqual({ code: GRPC.deadlineExceeded, made: 1 });
});

test.each(['ListWorkflowExecutions', 'CountWorkflowExecutions', 'DescribeWorkflowExecution', 'GetWorkflowExecutionHistory'])(
  'a single passing error of %s, which lists read by, is no error of the list',
  async (method) => {
    // By their numbers: UNKNOWN, ABORTED and DATA_LOSS are also what a server says that restarts.
    for (const code of [GRPC.unavailable, GRPC.resourceExhausted, GRPC.deadlineExceeded, GRPC.unknown, 10, 15]) {
      expect([code, await called(method, [code, 0])]).toEqual([code, { code: 0, made: 2 }]);
    }
  },
);

test('an Update under load and a query at the same time as another one are left to their senders, which know better when to resend them', async () => {
  expect(await called('UpdateWorkflowExecution', [GRPC.unavailable])).toEqual({ code: GRPC.unavailable, made: 1 });
  expect(await called('UpdateWorkflowExecution', [GRPC.resourceExhausted])).toEqual({ code: GRPC.resourceExhausted, made: 1 });
  expect(await called('QueryWorkflow', [GRPC.resourceExhausted])).toEqual({ code: GRPC.resourceExhausted, made: 1 });
});

test('a call whose connection was closed before its next attempt is cancelled, and throws nothing in a timer', async () => {
  const closed = new Error('Channel has been shut down');
  expect(await called('DescribeWorkflowExecution', [GRPC.unavailable, closed])).toEqual({ code: GRPC.cancelled, made: 2 });
});
