import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_RECALL } from '../../../../src/core/domain/agent.ts';
import { RECALL_FRAME, type Recalled } from '../../../../src/core/domain/memory.ts';
import type { ModelCallOutcome } from '../../../../src/core/kernel/ports.ts';
import { call, called, type FakeRun, message, responded, runFake, said } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { agentTo, to } from '../handoffs/agents.ts';

const memory = { recall: DEFAULT_RECALL };
const snapshot = testSnapshot({ tools: [testTool('t')], memory });
const text = `${RECALL_FRAME}\n{"key":"k","value":1}`;
const found = (id = 'recall-1'): { recalled: Recalled } => ({ recalled: { id, text, note: { entries: 1 } } });

/** The model calls that ask the memory. */
function asked({ modelCalls }: Pick<FakeRun, 'modelCalls'>): number[] {
  return modelCalls.flatMap(({ input }, index) => (input?.['recall'] === true ? [index] : []));
}

function authors({ events }: Pick<FakeRun, 'events'>): string {
  return events.map(({ author }) => author).join(' ');
}

test('the first model call asks the memory, and its entries are recorded before the answer', async () => {
  const run = await runFake({ snapshot, model: [responded([call('c1', 't')], found()), said('done')] });
  expect(asked(run)).toEqual([0]);
  expect(run.events.map(({ id, author }) => [id, author]).slice(0, 3)).toEqual([
    ['event-1', 'user'],
    ['recall-1', 'memory'],
    [run.events[2]?.id, 'a'],
  ]);
  expect(run.events[1]).toMatchObject({ content: [{ type: 'message', role: 'user', content: text }], memory: { entries: 1 } });
  // The call of the tool names the offset of the answer.
  expect(run.invocations[0]).toMatchObject({ offset: 2 });
  expect(run.modelCalls[1]).toMatchObject({ through: 4, newEvents: 1 });
});

test('the text is recorded once, and is not part of the state that the loop carries for the calls of the answer', async () => {
  const run = await runFake({
    snapshot,
    model: [responded([call('c1', 't')], found()), said('done')],
    continueDue: ({ state }) => state.context.events.length > 2,
  });
  expect(run.positions.length).toBeGreaterThan(0);
  expect(JSON.stringify(run.positions)).not.toContain(RECALL_FRAME);
  expect(JSON.stringify(run.events).split(RECALL_FRAME)).toHaveLength(2);
});

test('an agent without recall asks for nothing', async () => {
  for (const without of [testSnapshot(), testSnapshot({ memory: { tools: true } })]) {
    expect(asked(await runFake({ snapshot: without, model: [said('done')] }))).toEqual([]);
  }
});

test('a memory that had nothing is not queried again', async () => {
  const run = await runFake({ snapshot, model: [called(call('c1', 't')), said('done')] });
  expect(asked(run)).toEqual([0]);
  expect(authors(run)).toBe('user a a a');
});

test('a memory that was not available is recorded without content', async () => {
  const recalled: Recalled = { id: 'recall-1', text: '', note: { unavailable: 'no connection' } };
  const run = await runFake({ snapshot, model: [responded([message('done')], { recalled })] });
  expect(run.events[1]).toMatchObject({ id: 'recall-1', author: 'memory', content: [], memory: { unavailable: 'no connection' } });
  expect(run.state.window.events).toHaveLength(2);
});

test('the recall of a call that was given up is lost: the next call queries again', async () => {
  const interrupted: ModelCallOutcome = { type: 'interrupted' };
  const run = await runFake({ snapshot, model: [interrupted, responded([message('done')], found('recall-2'))] });
  expect(asked(run)).toEqual([0, 1]);
  expect(authors(run)).toBe('user memory a');
});

test('a conversation that was too long is sent again without entries', async () => {
  const tooLong: ModelCallOutcome = { type: 'failed', code: 'context_length_exceeded', message: 'the model takes less' };
  const window = { maxTokens: 1_000_000, maxBytes: 10_000, keepResults: 0, summarize: false };
  const given = [
    message('Q'),
    call('c0', 't'),
    { type: 'tool_result' as const, toolCallId: 'c0', name: 't', status: 'success' as const, content: ['x'.repeat(2_000)] },
    message('answer'),
  ];
  const opening = { messages: given, input: 'again' };
  const run = await runFake({ snapshot: testSnapshot({ ...snapshot, window }), opening, model: [tooLong, said('done')] });
  expect(asked(run)).toEqual([0]);
  expect(run.modelCalls).toHaveLength(2);
});

test('each agent of a run asks its memory on its first turn', async () => {
  const A = agentTo('a', ['b'], { memory });
  const B = agentTo('b', ['a'], { memory: { recall: { topK: 1, maxBytes: 300 } } });
  const model = [called(to('b')), called(to('a')), said('done')];
  const run = await runFake({ snapshot: A, model, ports: { resolveHandoff: async () => ({ type: 'resolved', snapshot: B }) } });
  expect(asked(run)).toEqual([0, 1]);
});

test('a run that continues as new at any point asks and records the same', async () => {
  const model = (): ModelCallOutcome[] => [responded([call('c1', 't'), call('c2', 't')], found()), called(call('c3', 't')), said('done')];
  const whole = await runFake({ snapshot, model: model() });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 20 }), async (points) => {
      let asks = 0;
      const run = await runFake({ snapshot, model: model(), continueDue: () => points[asks++] ?? false });
      expect(asked(run)).toEqual(asked(whole));
      expect(authors(run)).toBe(authors(whole));
      expect(run.result.output).toBe('done');
    }),
    { numRuns: 50 },
  );
});
