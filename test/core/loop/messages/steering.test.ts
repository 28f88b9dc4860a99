import { describe, expect, it } from 'vitest';
import { INTERRUPTED_CALL, unknownTool } from '../../../../src/core/domain/tool-calls.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import { call, called, resultsOf, returned, runFake, said } from '../fakes/fake-ports.ts';
import { refusal, sends, update } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { eventSummaries } from '../fakes/event-summaries.ts';

const tools = [testTool('t'), testTool('lonely', { parallel: false }), testTool('paid', { approval: { when: 'always' } })];
const snapshot = testSnapshot({ tools });

describe('a message that steers the run', () => {
  it.each([
    ['sequential', called(call('c1', 'lonely'), call('c2', 'nope'), call('c3', 't'))],
    ['together', called(call('c1', 't'), call('c2', 'nope'), call('c3', 't'))],
    ['with decisions', called(call('c1', 'paid'), call('c2', 'nope'), call('c3', 't'))],
  ])('keeps all calls from starting if it comes while the model answers: calls that run %s', async (_, calls) => {
    const run = await runFake({
      snapshot,
      model: [
        (one) => {
          sends('stop', 'steer')(one);
          return calls;
        },
        said('as you like'),
      ],
    });
    expect(run.invocations).toEqual([]);
    expect(resultsOf(run, 1)).toEqual([INTERRUPTED_CALL, unknownTool('nope'), INTERRUPTED_CALL]);
    expect(eventSummaries(run).slice(3)).toEqual(['user: stop', 'assistant: as you like']);
  });

  it('withdraws no call that has started', async () => {
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 't'), call('c2', 't')), said('as you like')],
      tools: {
        t: async (_, one) => {
          if (one.invocations.length === 1) sends('stop', 'steer')(one);
          return returned('ran');
        },
      },
    });
    expect(run.invocations).toHaveLength(1);
    expect(resultsOf(run, 1)).toEqual(['ran', INTERRUPTED_CALL]);
  });
});

describe('a queued message', () => {
  it('is read after the current step, with all its calls', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools, parallel: false }),
      model: [called(call('c1', 't'), call('c2', 't')), said('done')],
      tools: {
        t: (_, one) => {
          if (one.invocations.length === 1) sends('and hurry')(one);
          return returned('ran');
        },
      },
    });
    expect(resultsOf(run, 1)).toEqual(['ran', 'ran']);
    expect(eventSummaries(run).slice(3)).toEqual(['user: and hurry', 'assistant: done']);
  });

  it('is answered before the run ends, if it was accepted before the answer was there', async () => {
    const run = await runFake({
      snapshot,
      model: [
        (one) => {
          sends('wait')(one);
          return said('too early');
        },
        said('done'),
      ],
    });
    expect(eventSummaries(run)).toEqual(['user: Q', 'assistant: too early', 'user: wait', 'assistant: done']);
  });

  it('gets a receipt with the step that reads it, and the record so far', async () => {
    const receipts: unknown[] = [];
    const inbox = new Inbox();
    const run = await runFake({
      snapshot,
      inbox,
      model: [
        (one) => {
          receipts.push(
            update(one, 'send', { id: 'm1', content: 'a' }),
            update(one, 'send', { id: 'm2', content: 'b', mode: 'interrupt' }),
          );
          return { type: 'interrupted' };
        },
        called(call('c1', 't')),
        said('done'),
      ],
      tools: {
        t: (_, one) => {
          receipts.push(update(one, 'send', { id: 'm3', content: 'c' }), update(one, 'send', { id: 'm3', content: 'c' }));
          return returned();
        },
      },
    });
    expect(receipts).toEqual([
      { version: 1, id: 'm1', status: 'queued', queued: 1, offset: 1, beforeStep: 2 },
      { version: 1, id: 'm2', status: 'queued', queued: 2, offset: 1, beforeStep: 1 },
      { version: 1, id: 'm3', status: 'queued', queued: 1, offset: 4, beforeStep: 2 },
      { version: 1, id: 'm3', status: 'duplicate', queued: 1 },
    ]);
    expect(eventSummaries(run).slice(1)).toEqual(['user: a', 'user: b', 't(c1)', 'c1 gave ""', 'user: c', 'assistant: done']);
  });

  it('is refused once the ending of the run is decided', async () => {
    const run = await runFake({ snapshot, model: [said('done')] });
    run.inbox.closed = true;
    expect(refusal(run, 'send', { id: 'm1', content: 'late' })).toMatchObject({ code: 'run_ended' });
  });
});
