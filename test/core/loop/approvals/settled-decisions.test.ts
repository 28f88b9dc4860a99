import { describe, expect, it } from 'vitest';
import { type Decision, NO_DIGEST, type PendingApproval } from '../../../../src/core/domain/approvals.ts';
import type { Authorization } from '../../../../src/core/kernel/ports.ts';
import { approvalAgent, asks } from './approval-tools.ts';
import { call, called, type FakeRun, returned, runFake, said } from '../fakes/fake-ports.ts';
import { about, approves, awaitsVerdict, refusal, rejects, responds, sends, signal, together, update } from '../fakes/callers.ts';
import { eventSummaries } from '../fakes/event-summaries.ts';

const once = [called(call('c1', 'paid')), said('done')];
const twice = [called(call('c1', 'paid'), call('c2', 'paid')), said('done')];

describe('a remembered decision', () => {
  it('approves every later call of the tool', async () => {
    const run = await runFake({
      snapshot: approvalAgent,
      model: [called(call('c1', 'paid', { n: 1 })), called(call('c2', 'paid', { n: 2 }), call('c3', 'free')), said('done')],
      callers: [approves('c1', { remember: 'tool' })],
    });
    expect(eventSummaries(run).slice(4)).toEqual([
      'paid(c2), free(c3)',
      'approve c2 by ann',
      'c2 gave "paid ran", c3 gave "free ran"',
      'assistant: done',
    ]);
    expect(run.events[5]?.decision).toMatchObject({ source: 'remembered', type: 'approve', id: 'decision on c1 for c2' });
  });

  it('approves pending calls of the tool', async () => {
    const run = await runFake({ snapshot: approvalAgent, model: twice, callers: [approves('c2', { remember: 'tool' })] });
    expect(run.events.flatMap(({ decision }) => (decision ? [[decision.callId, decision.source]] : []))).toEqual([
      ['c2', 'update'],
      ['c1', 'remembered'],
    ]);
    expect(run.result.status).toBe('completed');
  });

  it('applies only to equal arguments if it says so', async () => {
    const model = [
      asks({ c1: { digest: 'seven' } }, call('c1', 'maybe')),
      asks({ c2: { digest: 'seven' }, c3: { digest: 'eight' } }, call('c2', 'maybe'), call('c3', 'maybe')),
      said('done'),
    ];
    const run = await runFake({ snapshot: approvalAgent, model, callers: [approves('c1', { remember: 'arguments' }), approves('c3')] });
    expect(run.events.flatMap(({ decision }) => (decision ? [[decision.callId, decision.source]] : []))).toEqual([
      ['c1', 'update'],
      ['c2', 'remembered'],
      ['c3', 'update'],
    ]);
  });

  it('rejects every later call, with the same reason', async () => {
    const model = [called(call('c1', 'paid')), called(call('c2', 'paid')), said('done')];
    const run = await runFake({ snapshot: approvalAgent, model, callers: [rejects('c1', { remember: 'tool', reason: 'closed' })] });
    expect(run.steps.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual([
      'User denied the tool execution. Reason: closed',
      'User denied the tool execution. Reason: closed',
    ]);
  });

  it('ends when it is revoked', async () => {
    const model = [called(call('c1', 'paid')), called(call('c2', 'paid'), call('c3', 'paid')), called(call('c4', 'paid')), said('done')];
    const receipts: unknown[] = [];
    const run = await runFake({
      snapshot: approvalAgent,
      model,
      tools: {
        paid: ({ call: { toolCallId } }, one) => {
          if (toolCallId !== 'c1') receipts.push(update(one, 'revoke', { decision: 'decision on c1' }));
          return returned();
        },
      },
      callers: [approves('c1', { remember: 'tool' }), approves('c4')],
    });
    expect(receipts.slice(0, 2)).toEqual([
      { version: 1, revoked: true },
      { version: 1, revoked: false },
    ]);
    expect(run.events.flatMap(({ decision }) => decision?.source ?? [])).toEqual(['update', 'remembered', 'remembered', 'update']);
  });

  it('cannot be an answer to a call', async () => {
    const model = [called(call('c1', 'paid')), called(call('c2', 'paid')), said('done')];
    const run = await runFake({ snapshot: approvalAgent, model, callers: [responds('c1', 'yes'), approves('c2')] });
    expect(run.state.approvals.remembered).toEqual([]);
  });
});

describe('a decided call', () => {
  it('is not decided again: the same decision gets its receipt, and another the author of the first', async () => {
    const seen: unknown[] = [];
    const run = await runFake({
      snapshot: approvalAgent,
      model: twice,
      callers: [
        approves('c1'),
        (one) => {
          const first = about(one, 'c1');
          seen.push(update(one, 'approve', first));
          seen.push(refusal(one, 'reject', { ...first, id: 'another' }));
          seen.push(refusal(one, 'reject', first));
          update(one, 'approve', about(one, 'c2'));
        },
      ],
    });
    const message = 'Call "c1" of "paid" in run "run-1" was approved by "ann" at 2023-11-14T22:13:20.000Z (decision "decision on c1")';
    expect(seen).toEqual([
      { version: 1, status: 'repeated', decision: expect.objectContaining({ id: 'decision on c1', type: 'approve' }) },
      { code: 'already_decided', message },
      { code: 'already_decided', message },
    ]);
    expect(run.events.filter(({ decision }) => decision)).toHaveLength(2);
  });

  it('is not the one that a decision with another digest was made on', async () => {
    const seen: string[] = [];
    await runFake({
      snapshot: approvalAgent,
      model: twice,
      callers: [
        approves('c1'),
        (one) => {
          const again = { ...about(one, 'c1'), id: 'another' };
          seen.push(...['of attempt 2', again.digest, NO_DIGEST].map((given) => refusal(one, 'approve', { ...again, digest: given }).code));
          expect(refusal(one, 'approve', { ...again, digest: 'of attempt 2' }).message).toContain('write "#" as "%23" in a URL');
          update(one, 'approve', about(one, 'c2'));
        },
      ],
    });
    expect(seen).toEqual(['digest_mismatch', 'already_decided', 'already_decided']);
  });

  it('counts as decided before the decision is applied', async () => {
    await runFake({
      snapshot: approvalAgent,
      model: once,
      callers: [
        (one) => {
          const decision = about(one, 'c1');
          update(one, 'approve', decision);
          expect(update(one, 'approve', decision)).toMatchObject({ status: 'repeated' });
          expect(refusal(one, 'reject', { ...decision, id: 'another' })).toMatchObject({ code: 'already_decided' });
        },
      ],
    });
  });
});

describe('a decision that does not fit a pending call', () => {
  it('is refused with the reason, and leaves no trace', async () => {
    const run = await runFake({
      snapshot: approvalAgent,
      model: once,
      callers: [
        (one) => {
          const decision = about(one, 'c1');
          expect(refusal(one, 'approve', { ...decision, digest: 'of others' })).toMatchObject({ code: 'digest_mismatch' });
          expect(refusal(one, 'approve', { ...decision, callId: 'c9' })).toMatchObject({ code: 'unknown_call' });
          expect(refusal(one, 'approve', { ...decision, digest: undefined })).toMatchObject({ code: 'invalid_input' });
          expect(refusal(one, 'approve', { ...decision, arguments: 7 })).toMatchObject({ code: 'invalid_input' });
          update(one, 'approve', decision);
        },
      ],
    });
    expect(eventSummaries(run)).toEqual(['user: Q', 'paid(c1)', 'approve c1 by ann', 'c1 gave "paid ran"', 'assistant: done']);
  });

  it('is refused while the run has too much to apply, and accepted afterwards', async () => {
    const run = await runFake({
      snapshot: approvalAgent,
      model: twice,
      callers: [
        (one) => {
          const large = { arguments: { k: 'x'.repeat(60_000) } };
          update(one, 'approve', { ...about(one, 'c1'), ...large });
          expect(refusal(one, 'approve', { ...about(one, 'c2'), ...large })).toMatchObject({ code: 'busy' });
        },
        approves('c2', { arguments: { k: 'x'.repeat(60_000) } }),
      ],
    });
    expect(run.invocations.map(({ edited }) => edited)).toEqual([true, true]);
  });

  it('becomes an event if it came by Signal, because its sender gets no answer', async () => {
    const run = await runFake({
      snapshot: approvalAgent,
      model: once,
      callers: [
        (one) => signal(one, 'approve', { ...about(one, 'c1'), digest: 'of others' }),
        (one) => signal(one, 'approve', about(one, 'c1')),
      ],
    });
    expect(eventSummaries(run).slice(2, 4)).toEqual(['refused approve: digest_mismatch', 'approve c1 by ann']);
    expect(run.events[2]?.refused).toMatchObject({ request: 'approve', id: 'decision on c1', callId: 'c1', by: 'ann' });
    expect(run.events[3]?.decision?.source).toBe('signal');
  });

  it('is recorded as refused if the call was given up before the decision was applied', async () => {
    const run = await runFake({
      snapshot: approvalAgent,
      model: twice,
      callers: [together(approves('c1'), sends('stop that', 'steer'))],
    });
    expect(eventSummaries(run).slice(2, 3)).toEqual(['approve c1 by ann']);
    expect(run.invocations).toEqual([]);
  });
});

describe('if the worker has an authorize hook', () => {
  const snapshot = { ...approvalAgent, authorize: true as const };
  const asked: [Decision, PendingApproval][] = [];
  const authorize = (decision: Decision, waiting: PendingApproval): Promise<Authorization> => {
    asked.push([decision, waiting]);
    return Promise.resolve(
      decision.by === 'ann' ? { type: 'authorized', as: 'ann@example.org' } : { type: 'refused', reason: 'not on call' },
    );
  };

  it('a decision is recorded with the verified identity', async () => {
    const run = await runFake({ snapshot, model: once, ports: { authorize }, callers: [awaitsVerdict('decision on c1', approves('c1'))] });
    expect(run.events[2]).toMatchObject({ author: 'ann@example.org', decision: { by: 'ann', verifiedBy: 'ann@example.org' } });
    expect(asked.at(-1)).toMatchObject([
      { type: 'approve', callId: 'c1' },
      { callId: 'c1', toolName: 'paid' },
    ]);
    expect(run.inbox.verdicts.on('decision on c1')).toMatchObject({ type: 'decided' });
    run.inbox.verdicts.forget('decision on c1');
    expect(run.inbox.verdicts.on('decision on c1')).toBeUndefined();
  });

  it('the verdict on a decision without a waiting caller is recorded', async () => {
    const run = await runFake({ snapshot, model: once, ports: { authorize }, callers: [approves('c1')] });
    expect(run.result.status).toBe('completed');
    expect(run.inbox.verdicts.size).toBe(0);
    expect(run.inbox.verdicts.on('decision on c1')).toBeUndefined();
  });

  it('an unauthorized decision is recorded as refused, and the call stays pending', async () => {
    const run = await runFake({
      snapshot,
      model: once,
      ports: { authorize },
      callers: [
        awaitsVerdict('b1', approves('c1', { by: 'bob', id: 'b1' })),
        (one) => expect(one.state.status).toBe('pending_confirmation'),
        rejects('c1'),
      ],
    });
    expect(eventSummaries(run).slice(2)).toEqual([
      'refused approve: not_authorized',
      'reject c1 by ann@example.org',
      'c1 failed "User denied the tool execution."',
      'assistant: done',
    ]);
    expect(run.inbox.verdicts.on('b1')).toEqual({
      type: 'refused',
      code: 'not_authorized',
      message: 'Not authorized to decide call "c1": not on call',
    });
  });

  it('the first authorized decision counts: the others are recorded as refused, by the name of their sender', async () => {
    const run = await runFake({
      snapshot,
      model: once,
      ports: { authorize },
      callers: [awaitsVerdict('a2', together(rejects('c1', { by: 'bob', id: 'b1' }), approves('c1'), rejects('c1', { id: 'a2' })))],
    });
    expect(eventSummaries(run).slice(2, 5)).toEqual([
      'refused reject: not_authorized',
      'approve c1 by ann@example.org',
      'refused reject: already_decided',
    ]);
    expect(run.events.slice(2, 5).map(({ author }) => author)).toEqual(['bob', 'ann@example.org', 'ann']);
    expect(run.inbox.verdicts.on('a2')).toMatchObject({ type: 'refused', code: 'already_decided' });
  });

  it('a decision that is resent while it is checked counts as the same, and is applied once', async () => {
    let again = (): void => undefined;
    const run = await runFake({
      snapshot,
      model: once,
      ports: {
        authorize: (decision, waiting) => {
          again();
          return authorize(decision, waiting);
        },
      },
      callers: [
        awaitsVerdict('decision on c1', (one) => {
          const decision = about(one, 'c1');
          again = () => expect(update(one, 'approve', decision)).toMatchObject({ status: 'repeated' });
          update(one, 'approve', decision);
        }),
      ],
    });
    expect(eventSummaries(run).slice(2)).toEqual(['approve c1 by ann@example.org', 'c1 gave "paid ran"', 'assistant: done']);
    expect(run.inbox.verdicts.on('decision on c1')).toMatchObject({ type: 'decided' });
    run.inbox.verdicts.forget('decision on c1');
    expect(run.inbox.verdicts.on('decision on c1')).toBeUndefined();
  });

  it('a decision that comes while another is checked is checked next, without a further event', async () => {
    const checks: string[] = [];
    let one = (): FakeRun => expect.fail('no caller has acted');
    const run = await runFake({
      snapshot,
      model: twice,
      ports: {
        authorize: (decision, waiting) => {
          if (checks.push(decision.callId) === 1) approves('c2')(one());
          return authorize(decision, waiting);
        },
      },
      callers: [(fake) => void ((one = () => fake), rejects('c1')(fake))],
    });
    expect(checks).toEqual(['c1', 'c2']);
    expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c2']);
  });

  it('a decision is refused if the run is cancelled while it is checked: its sender does not wait for the end of a session', async () => {
    const run = await runFake({
      snapshot,
      model: once,
      ports: { authorize: () => Promise.resolve({ type: 'cancelled' }) },
      callers: [
        awaitsVerdict('decision on c1', (one) => {
          approves('c1')(one);
          one.cancel();
        }),
      ],
    });
    expect(run.result.status).toBe('cancelled');
    expect(eventSummaries(run).slice(2, 3)).toEqual(['refused approve: unknown_call']);
    expect(run.inbox.verdicts.on('decision on c1')).toEqual({
      type: 'refused',
      code: 'unknown_call',
      message: 'Call "c1" of run "run-1" is no longer waiting',
    });
  });

  it('a decision about a limit that comes while the one that ends the run is checked is refused', async () => {
    let one = (): FakeRun => expect.fail('no caller has acted');
    const limits = { ...snapshot.limits, steps: 1, onLimit: 'ask' as const };
    const run = await runFake({
      snapshot: { ...snapshot, limits },
      model: [called(call('c1', 'free'))],
      ports: {
        authorize: (decision, waiting) => {
          if (decision.type === 'reject') awaitsVerdict('late', approves(waiting.callId, { id: 'late' }))(one());
          return Promise.resolve({ type: 'authorized', as: 'ann@example.org' });
        },
      },
      callers: [
        (fake) => {
          one = () => fake;
          rejects(fake.state.approvals.pending[0]?.callId ?? '')(fake);
        },
      ],
    });
    expect(run.result.stopReason).toBe('step_limit');
    expect(run.inbox.verdicts.on('late')).toMatchObject({ type: 'refused', code: 'already_decided' });
  });

  it('a decision by a deadline, or a remembered one, is not checked again', async () => {
    const before = asked.length;
    const model = [called(call('c1', 'paid')), asks({ c3: { deadlineMs: 1_000 } }, call('c2', 'paid'), call('c3', 'maybe')), said('done')];
    const run = await runFake({ snapshot, model, ports: { authorize }, callers: [approves('c1', { remember: 'tool' })] });
    expect(asked.length - before).toBe(1);
    expect(run.events.flatMap(({ decision }) => decision?.verifiedBy ?? [])).toEqual(['ann@example.org', 'ann@example.org']);
  });
});
