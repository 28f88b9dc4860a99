import { afterEach, expect, test, vi } from 'vitest';
import { authorizeDecisionActivity, notifyWaitingActivity } from '../../../activities/approvals/approvals.ts';
import type { AuthorizeAnswer, DecisionToAuthorize, WaitingNotice } from '../../../src/define/approvals.ts';
import type { DecidedCall, PendingApproval } from '../../../src/core/domain/approvals.ts';
import type { Folded } from '../../../src/core/domain/window.ts';
import { type AuthorizeDecisionInput, type NotifyWaitingInput, QUERIES } from '../../../src/core/protocol.ts';
import { logLine } from '../../../src/log/log-writer.ts';
import { activityEnvironment, EXECUTION } from '../activity-environment.ts';

afterEach(() => vi.useRealTimers());

const decision: DecidedCall = {
  id: 'd1',
  type: 'approve',
  callId: 'c1',
  toolName: 'pay',
  digest: 'digest',
  by: 'ann',
  source: 'update',
  at: '2026-01-01T00:00:00.000Z',
};

/** The call, and the events that the run has recorded since it began to wait. */
const events: Folded[] = [
  { id: 'e0', author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] },
  {
    id: 'e1',
    author: 'clerk',
    content: [
      { type: 'message', role: 'assistant', content: 'I pay' },
      { type: 'tool_call', toolCallId: 'c1', name: 'pay', arguments: { amount: 5 } },
    ],
  },
  { id: 'e2', author: 'user', content: [] },
];

const place = { at: [1, 1] as [number, number], eventId: 'e1' };
const about = { agentName: 'clerk', tenant: 'acme', user: 'ada', question: 'Q' };
const answers = { [QUERIES.data]: { deps: { user: 'u1' }, state: {} }, [QUERIES.status]: { about } };

/** Runs the hook on a decision; returns its verdict and its input. */
async function authorize(answer: () => AuthorizeAnswer, input: Partial<AuthorizeDecisionInput> = {}, more: Record<string, unknown> = {}) {
  const calls: { decision: DecisionToAuthorize; context: unknown }[] = [];
  const pool = {};
  const environment = activityEnvironment({
    events,
    answers: { ...answers, ...more },
    resources: { pool },
    authorize: (asked, { signal: _, ...context }) => {
      calls.push({ decision: asked, context });
      return answer();
    },
  });
  const output = await environment.run(authorizeDecisionActivity(environment.runtime), {
    agentName: 'clerk',
    decision,
    kind: 'tool',
    ...place,
    ...input,
  });
  return { output, environment, ...calls[0] };
}

test('the authorize hook gets the decision with the arguments of the call, and its answer is the verified identity', async () => {
  const asked = await authorize(() => ({ as: 'ann@example.org' }), { arguments: { amount: 3 } });
  expect(asked.output).toEqual({ type: 'authorized', as: 'ann@example.org' });
  expect(asked.decision).toEqual({
    id: 'd1',
    type: 'approve',
    kind: 'tool',
    callId: 'c1',
    toolName: 'pay',
    arguments: { amount: 5 },
    editedArguments: { amount: 3 },
    by: 'ann',
    source: 'update',
  });
  expect(asked.context).toEqual({ deps: { user: 'u1' }, resources: { pool: {} }, runId: 'run-1', agent: 'clerk' });
});

test('content that is too large for the input is requested from the run by the id of the decision', async () => {
  const content = { note: 'x'.repeat(5_000) };
  const input = { decision: { ...decision, type: 'respond' as const }, contentByReference: true as const };
  const asked = await authorize(() => ({ as: 'ann' }), input, { [QUERIES.decision]: { content } });
  expect(asked.decision).toMatchObject({ type: 'respond', content });
  expect(asked.environment.asked).toContainEqual([QUERIES.decision, { id: 'd1' }]);
});

test('a decision on a limit is of that kind, and has no arguments of a call', async () => {
  const environment = activityEnvironment({
    answers,
    authorize: ({ kind, arguments: args, editedArguments }) => ({ as: JSON.stringify([kind, args, editedArguments]) }),
  });
  const input = {
    agentName: 'clerk',
    kind: 'limit' as const,
    decision: { ...decision, toolName: 'raise_limits' },
    arguments: { steps: 9 },
  };
  expect(await environment.run(authorizeDecisionActivity(environment.runtime), input)).toEqual({
    type: 'authorized',
    as: '["limit",{},{"steps":9}]',
  });
});

const throws = (): never => {
  throw new Error('not you');
};

test.each<[string, () => AuthorizeAnswer, RegExp]>([
  ['a refusal', () => ({ refuse: 'not you' }), /^not you$/],
  ['an error', throws, /^not you$/],
  ['nothing', () => JSON.parse('null') as AuthorizeAnswer, /neither/],
  ['an identity without a name', () => ({ as: '' }), /neither/],
])('%s of the hook refuses the decision, with the reason', async (_, answer, reason) => {
  expect((await authorize(answer)).output).toEqual({ type: 'refused', reason: expect.stringMatching(reason) as string });
});

test('an error of the hook is logged with its stack; the approver reads the message alone', async () => {
  const { environment } = await authorize(throws);
  expect(environment.logged.map((entry) => logLine(entry)).join('\n')).toMatch(
    /"authorize" threw.*not you[^]*decision-activities\.test\.ts/,
  );
});

test('the activity is retried if this worker has no hook, or if the run does not answer', async () => {
  const input: AuthorizeDecisionInput = { agentName: 'clerk', kind: 'tool', decision, ...place };
  const without = activityEnvironment({ events, answers });
  const silent = activityEnvironment({ events, authorize: () => ({ as: 'ann' }) });
  await expect(without.run(authorizeDecisionActivity(without.runtime), input)).rejects.toMatchObject({
    type: 'authorization_failed',
    details: [{ 'longhaul:missing': { kind: 'function', name: 'authorize' } }],
  });
  const failed = silent.run(authorizeDecisionActivity(silent.runtime), input);
  await expect(failed).rejects.toMatchObject({ type: 'transcript_unavailable', nonRetryable: false });
});

test('a hook that waits is aborted with the run, and the decision is not refused', async () => {
  const begun = Promise.withResolvers<void>();
  const environment = activityEnvironment({
    events,
    answers,
    authorize: (_, { signal }) => {
      begun.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('given up'))));
    },
  });
  const output = environment.run(authorizeDecisionActivity(environment.runtime), { agentName: 'clerk', kind: 'tool', decision, ...place });
  await begun.promise;
  environment.runtime.aborts.abort(EXECUTION);
  await expect(output).rejects.toMatchObject({ name: 'AbortError' });
});

const waiting: PendingApproval = {
  kind: 'tool',
  callId: 'c1',
  toolName: 'pay',
  digest: 'digest',
  key: 'e1/1',
  step: 1,
  requestedAt: 0,
  deadlineAt: 86_400_000,
  onDeadline: 'reject',
  reason: 'much',
};

const notice: NotifyWaitingInput = { agentName: 'clerk', notificationId: 'run-1/e1/1', waiting, ...place };

test('the notify hook gets a stable id, the identity and the purpose of the run, the arguments, and the possible decisions', async () => {
  const told: WaitingNotice[] = [];
  const environment = activityEnvironment({ events, answers, notify: (one) => void told.push(one) });
  await environment.run(notifyWaitingActivity(environment.runtime), notice);
  expect(told).toEqual([
    {
      id: 'run-1/e1/1',
      runId: 'run-1',
      agentName: 'clerk',
      about,
      kind: 'tool',
      callId: 'c1',
      toolName: 'pay',
      arguments: { amount: 5 },
      digest: 'digest',
      deadline: '1970-01-02T00:00:00.000Z',
      onDeadline: 'reject',
      reason: 'much',
    },
  ]);
});

test('the notify hook gets a pending limit with the limits that an approval would set', async () => {
  const told: WaitingNotice[] = [];
  const environment = activityEnvironment({ answers, notify: (one) => void told.push(one) });
  const { at: _, eventId: __, ...input } = notice;
  await environment.run(notifyWaitingActivity(environment.runtime), {
    ...input,
    waiting: { ...waiting, kind: 'limit', proposal: { steps: 20 } },
  });
  expect(told).toMatchObject([{ kind: 'limit', arguments: { steps: 20 } }]);
});

test('a failed notification is retried', async () => {
  const environment = activityEnvironment({ events, answers, notify: throws });
  const failure = { type: 'notification_failed', message: 'not you', nonRetryable: false };
  await expect(environment.run(notifyWaitingActivity(environment.runtime), notice)).rejects.toMatchObject(failure);
});

test('a notification that hangs is given up after its time limit and when its worker shuts down, even if it ignores its signal', async () => {
  vi.useFakeTimers();
  const hangs = (): Promise<void> => new Promise(() => undefined);
  const slow = activityEnvironment({ events, answers, notify: hangs });
  const failed = slow.run(notifyWaitingActivity(slow.runtime), notice).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(50_000);
  expect(await failed).toMatchObject({
    type: 'notification_failed',
    message: 'it took more than 50 s',
    nonRetryable: false,
  });
  const closing = activityEnvironment({ events, answers, notify: hangs });
  const ended = closing.run(notifyWaitingActivity(closing.runtime), notice).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1);
  closing.shutDown();
  expect(await ended).toMatchObject({ name: 'CancelledFailure' });
});

test('a further attempt notifies only of calls that still wait', async () => {
  const told: string[] = [];
  const { digest } = notice.waiting;
  const viewOf = (...pending: object[]): object => ({ pending, total: pending.length });
  const view = (...keys: string[]): object => viewOf(...keys.map((key) => ({ key, digest })));
  const again = async (page: object): Promise<void> => {
    const asked = { ...answers, [QUERIES.approvals]: page };
    const environment = activityEnvironment({ events, answers: asked, info: { attempt: 2 }, notify: ({ id }) => void told.push(id) });
    await environment.run(notifyWaitingActivity(environment.runtime), notice);
  };
  await again(view('a/0', 'b/0'));
  // As the next limit, after the one that it is about was raised.
  await again(viewOf({ key: 'e1/1', digest: 'of another wait' }));
  expect(told).toEqual([]);
  await again(view('a/0', 'e1/1'));
  expect(told).toEqual(['run-1/e1/1']);
});
