import { expect, test } from 'vitest';
import { z } from 'zod';
import type { HistoryEvent } from '../../../src/history/history-events.ts';
import { contextUpdate, defineAgent, defineTool, withUpdate } from '../../../src/index.ts';
import { ACTIVITIES, type CallModelInput, type RunToolInput } from '../../../src/core/protocol.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const deps = z.object({ userId: z.string(), profile: z.string(), seen: z.number() });
type Deps = z.output<typeof deps>;

/** The largest text that an activity input may hold. */
const TEXT = 't'.repeat(900);

/** A run whose calls have ids like OpenAI's, with a tool that changes the deps or does not. */
async function historyWith(update: boolean): Promise<HistoryEvent[]> {
  await using testbed = await Testbed.open();
  const note = defineTool({
    name: 'note',
    description: 'Keeps a note',
    parameters: z.object({ text: z.string() }),
    execute: () => (update ? withUpdate('noted', contextUpdate<Deps>().set('seen', 7)) : 'noted'),
  });
  const agent = defineAgent({ name: 'customer_support_agent', model: 'scripted/m', deps, tools: [note] });
  const usage = { promptTokens: 87_654, completionTokens: 12_345, totalTokens: 99_999 };
  const call = (id: string): ReturnType<typeof callTool> => ({ ...callTool('note', { text: TEXT }, `call_${id.repeat(24)}`), usage });
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([call('a'), call('b'), say('done')]) } });
  const { taskQueue } = testbed;
  const { runId, status } = await testbed.client.run(agent, { input: 'Q', deps: { userId: 'u7', profile: TEXT, seen: 1 }, taskQueue });
  expect(status).toBe('completed');
  return await historyOf(testbed, runId);
}

/** The inputs of an activity with their sizes in bytes, in order. */
function inputsOf<Input>(history: readonly HistoryEvent[], name: string): { bytes: number; input: Input }[] {
  return history.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    const data = scheduled?.activityType?.name === name ? scheduled.input?.payloads?.[0]?.data : undefined;
    return data ? [{ bytes: data.length, input: JSON.parse(Buffer.from(data).toString()) as Input }] : [];
  });
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

test('a call stores at most 300 bytes in addition to its arguments and deps, and a change of the deps adds no event', async () => {
  const [plain, changing] = await Promise.all([historyWith(false), historyWith(true)]);
  const models = inputsOf<CallModelInput>(changing, ACTIVITIES.callModel);
  const calls = inputsOf<RunToolInput>(changing, 'note');
  expect(calls.map(({ input }) => [input.arguments, input.deps])).toEqual([
    [{ text: TEXT }, { userId: 'u7', profile: TEXT, seen: 1 }],
    [{ text: TEXT }, { userId: 'u7', profile: TEXT, seen: 7 }],
  ]);
  for (const [index, { bytes, input }] of calls.entries()) {
    const told = bytes - sizeOf(input.arguments) - sizeOf(input.deps);
    // The next model request refers to the result of the call.
    const named = sizeOf(models[index + 1]?.input.results);
    expect(told + named).toBeLessThanOrEqual(300);
  }
  expect(changing.length).toBe(plain.length);
  expect(models.map(({ bytes }) => bytes)).toEqual(inputsOf(plain, ACTIVITIES.callModel).map(({ bytes }) => bytes));
});
