import { describe, expect, it } from 'vitest';
import type { PendingApproval } from '../../../../src/core/domain/approvals.ts';
import { approvalAgent, asks } from './approval-tools.ts';
import {
  call,
  called,
  type FakeRun,
  type FakeScript,
  message,
  type Caller,
  responded,
  returned,
  runFake,
  said,
} from '../fakes/fake-ports.ts';
import { about, approves, refusal, rejects, sends, together, update } from '../fakes/callers.ts';
import { testSnapshot } from '../fakes/snapshot.ts';
import { eventSummaries } from '../fakes/event-summaries.ts';

/** Continues as new this many times, whenever only waiting is left. */
function whileWaiting(times: number): (run: FakeRun) => boolean {
  return ({ state, positions }) => positions.length < times && state.status === 'pending_confirmation';
}

const paying = [
  responded([message('let me see'), call('c1', 'paid', { n: 1 }), call('c2', 'free'), call('c3', 'paid', { n: 3 })]),
  called(call('c4', 'paid')),
  said('done'),
];

describe('a run that continues as new while calls wait', () => {
  const script: FakeScript = {
    snapshot: approvalAgent,
    model: paying,
    callers: [sends('thanks'), rejects('c1', { reason: 'no' }), approves('c3', { arguments: { n: 30 }, remember: 'tool' })],
  };

  it.each([1, 2, 3])('%d times makes the same records and requests as one that does not', async (times) => {
    const whole = await runFake(script);
    const split = await runFake({ ...script, continueDue: whileWaiting(times) });
    expect(split.positions).toHaveLength(times);
    expect(eventSummaries(split)).toEqual(eventSummaries(whole));
    expect(split.steps).toEqual(whole.steps);
    expect(split.invocations.map(({ call: one }) => one)).toEqual(whole.invocations.map(({ call: one }) => one));
    expect(split.modelCalls.map(({ through, newEvents }) => [through, newEvents])).toEqual([
      [1, 1],
      [8, 4],
      [11, 1],
    ]);
    expect({ ...split.result, steps: [] }).toEqual({ ...whole.result, steps: [] });
  });

  it('keeps results that were recorded early, and does not repeat their calls', async () => {
    const run = await runFake({ ...script, continueDue: whileWaiting(1) });
    expect(run.positions).toMatchObject([{ type: 'run_tools', outcomes: [null, { content: ['free ran'] }, null] }]);
    expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c2', 'c3', 'c4']);
  });

  it('keeps the deadlines', async () => {
    const model = [asks({ c1: { deadlineMs: 60_000 }, c2: {} }, call('c1', 'maybe'), call('c2', 'maybe')), said('done')];
    const run = await runFake({
      snapshot: approvalAgent,
      model,
      continueDue: whileWaiting(2),
      callers: [
        ({ scheduler }) => {
          scheduler.now += 20_000;
        },
        approves('c2'),
      ],
    });
    expect(eventSummaries(run).slice(2, 5)).toEqual(['approve c2 by ann', 'so far: c2 gave "maybe ran"', 'reject c1 by the deadline']);
    expect(run.scheduler.now).toBe(1_700_000_060_000);
  });

  it('carries out a decision that came after the run began to continue as new', async () => {
    const run = await runFake({
      snapshot: approvalAgent,
      model: [called(call('c1', 'paid')), said('done')],
      continueDue: (one) => {
        if (!whileWaiting(1)(one)) return false;
        update(one, 'approve', about(one, 'c1'));
        return true;
      },
    });
    expect(eventSummaries(run).slice(2)).toEqual(['approve c1 by ann', 'c1 gave "paid ran"', 'assistant: done']);
  });

  it('still has earlier decisions, and those remembered for further calls', async () => {
    const run = await runFake({
      snapshot: approvalAgent,
      model: [called(call('c1', 'paid'), call('c2', 'paid')), called(call('c3', 'paid')), said('done')],
      callers: [
        approves('c1'),
        (one) => {
          expect(one.positions).toHaveLength(2);
          const decision = about(one, 'c1');
          expect(refusal(one, 'reject', { ...decision, id: 'another' })).toMatchObject({ code: 'already_decided' });
          expect(update(one, 'approve', { ...decision, id: 'decision on c1' })).toMatchObject({ status: 'repeated' });
          update(one, 'approve', { ...about(one, 'c2'), remember: 'tool' });
        },
      ],
      continueDue: whileWaiting(2),
    });
    expect(run.events.flatMap(({ decision }) => decision?.source ?? [])).toEqual(['update', 'update', 'remembered']);
  });

  it('starts approved calls that could not start yet, with the arguments of the decision', async () => {
    let isFull = false;
    const run = await runFake({
      snapshot: testSnapshot({ ...approvalAgent, parallel: false }),
      model: [called(call('c1', 'paid'), call('c2', 'paid')), said('done')],
      tools: {
        paid: ({ call: { arguments: args } }, { positions }) => {
          isFull = positions.length === 0;
          return returned(args);
        },
      },
      callers: [together(approves('c1'), approves('c2', { arguments: { n: 2 } }))],
      continueDue: () => isFull && !(isFull = false),
    });
    expect(run.positions).toHaveLength(1);
    expect(run.invocations.map(({ call: { arguments: args }, edited }) => [args, edited])).toEqual([
      [{}, undefined],
      [{ n: 2 }, true],
    ]);
    expect(run.steps[0]?.toolCalls.map(({ arguments: args }) => args)).toEqual([{}, { n: 2 }]);
  });
});

describe('the notify hook', () => {
  const snapshot = { ...approvalAgent, notify: true as const };

  it('is called once for each call, with a unique key', async () => {
    const told: PendingApproval[] = [];
    const run = await runFake({
      snapshot,
      model: paying,
      ports: {
        notify: (waiting) => {
          told.push(waiting);
          return Promise.resolve({ type: 'notified' });
        },
      },
      callers: [approves('c1'), approves('c3'), approves('c4')],
      continueDue: whileWaiting(3),
    });
    expect(told.map(({ callId }) => callId)).toEqual(['c1', 'c3', 'c4']);
    expect(new Set(told.map(({ key }) => key)).size).toBe(3);
    expect(run.result.status).toBe('completed');
  });

  it('is called again in the next execution if the outcome of the call is unknown', async () => {
    const told: string[] = [];
    await runFake({
      snapshot,
      model: [called(call('c1', 'paid')), said('done')],
      ports: {
        notify: ({ key }) => {
          told.push(key);
          return told.length === 1 ? new Promise(() => undefined) : Promise.resolve({ type: 'notified' });
        },
      },
      callers: [approves('c1')],
      continueDue: whileWaiting(2),
    });
    expect(told).toHaveLength(2);
    expect(told[1]).toBe(told[0]);
  });

  it('could fail: the status of the run shows it, the next execution does not repeat it, and the decision is carried out', async () => {
    const seen: unknown[] = [];
    const noted: (string | undefined)[] = [];
    let asked = 0;
    const looks: Caller = ({ state }) => seen.push([state.approvals.pending[0]?.notified, state.lastError]);
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 'paid')), said('done')],
      ports: {
        notify: () => {
          asked += 1;
          return Promise.resolve({ type: 'failed', message: 'the chat is down' });
        },
        noted: ({ lastError }) => noted.push(lastError),
      },
      callers: [together(looks, sends('well?')), approves('c1')],
      continueDue: ({ state, positions }) => positions.length === 0 && state.approvals.pending[0]?.notified === false,
    });
    const lastError = '"notify" could not report that call "c1" of "paid" waits: the chat is down';
    expect(seen).toEqual([[false, lastError]]);
    expect(noted).toEqual([lastError]);
    expect(asked).toBe(1);
    expect(run.positions).toHaveLength(1);
    expect(run.result.status).toBe('completed');
  });

  it('does not delay a decision', async () => {
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 'paid')), said('done')],
      ports: { notify: () => new Promise(() => undefined) },
      callers: [approves('c1')],
    });
    expect(run.result.status).toBe('completed');
  });
});
