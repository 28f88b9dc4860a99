import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentItem } from '../../../../src/core/domain/content.ts';
import { recordsInOrder } from '../../../../src/core/domain/record.ts';
import { conversationProblems } from '../../../../src/core/input-checks.ts';
import { conversation } from '../../domain/conversations.ts';
import { chainedRun } from '../generated-runs/chained-run.ts';
import { call, called, message, runFake, said } from '../fakes/fake-ports.ts';
import { plannedRun } from '../generated-runs/planned-run.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const hi: ContentItem = { type: 'message', role: 'user', content: 'Hi' };
const result: ContentItem = { type: 'tool_result', toolCallId: 'old', name: 't', status: 'success', content: ['seen'] };
const messages = [hi, message('I look.'), call('old', 't'), result];
const snapshot = testSnapshot({ tools: [testTool('t')] });

describe('a run that begins with messages', () => {
  it('records them before its input, at its start, as given', async () => {
    const { state } = await runFake({ snapshot, opening: { messages, input: 'Q' }, model: [said('done')] });
    expect(state.context.events.map(({ author, timestamp, given, content }) => [author, timestamp, given, content.length])).toEqual([
      ['user', '2023-11-14T22:13:18.500Z', true, 1],
      ['a', '2023-11-14T22:13:18.500Z', true, 2],
      ['a', '2023-11-14T22:13:18.500Z', true, 1],
      ['user', '2023-11-14T22:13:18.500Z', undefined, 1],
      ['a', '2023-11-14T22:13:20.000Z', undefined, 1],
    ]);
  });

  it('asks the model at once where they need a response, with the ids of all of them', async () => {
    const run = await runFake({ snapshot, opening: { messages }, model: [said('done')] });
    expect(run.modelCalls).toMatchObject([
      { step: 1, through: 3, lastEventId: 'event-3', earlierIds: ['event-1', 'event-2'], newEvents: 3, final: false },
    ]);
    expect(run.state.context.events.slice(0, 3).map(({ id }) => id)).toEqual(['event-1', 'event-2', 'event-3']);
  });

  it('counts no step, usage or call for them, and does not run their calls', async () => {
    const run = await runFake({ snapshot, opening: { messages: messages.slice(0, 3) }, model: [called(call('new', 't')), said('done')] });
    expect(run.invocations.map((invocation) => invocation.call.toolCallId)).toEqual(['new']);
    expect(run.result).toMatchObject({ stepsUsed: 2, toolCallsTotal: 1, toolCallsByName: { t: 1 }, usage: { llmCalls: 2 } });
    expect(run.steps.map(({ step, toolCalls }) => [step, toolCalls.map(({ callId }) => callId)])).toEqual([
      [1, ['new']],
      [2, []],
    ]);
  });

  it('has its first step after its own first results, not after those that it was given', async () => {
    const { events, steps } = await runFake({ snapshot, opening: { messages }, model: [called(call('new', 't')), said('done')] });
    const records = [...recordsInOrder({ firstOffset: 0, events, firstStep: 0, steps })];
    expect(records.map((record) => (record.type === 'event' ? record.offset : `step ${record.step}`))).toEqual([
      0,
      1,
      2,
      3,
      4,
      'step 1',
      5,
      'step 2',
    ]);
  });

  it('ends without its own output if a limit of zero steps ends it', async () => {
    const none = testSnapshot({ limits: { steps: 0, finalAttempt: false } });
    const { result: ended } = await runFake({ snapshot: none, opening: { messages }, model: [] });
    expect(ended).toMatchObject({ status: 'max_iterations_reached', output: '', stepsUsed: 0 });
  });
});

describe('any run', { timeout: 120_000 }, () => {
  const points = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 });

  it('that begins with messages is the same if it continues as new', () =>
    fc.assert(
      fc.asyncProperty(plannedRun, conversation, points, async (plan, given, where) => {
        let index = 0;
        const opening = { messages: given, input: 'Q' };
        const split = await chainedRun(plan, () => where[index++ % where.length] ?? false, { opening });
        const whole = await chainedRun(plan, () => false, { opening });
        expect(split.events).toEqual(whole.events);
        expect(split.steps).toEqual(whole.steps);
        expect(split.actors.requests).toEqual(whole.actors.requests);
      }),
      { numRuns: 60 },
    ));

  it('leaves a record that another run can begin with', () =>
    fc.assert(
      fc.asyncProperty(plannedRun, async (plan) => {
        const { events } = await chainedRun(plan, () => false);
        const record = events.flatMap(({ content, compaction }) => (compaction === undefined ? content : []));
        expect(conversationProblems(record, 'messages')).toEqual([]);
      }),
      { numRuns: 100 },
    ));
});
