import { expect, test } from 'vitest';
import { fromDocument } from '../../../src/client/saved-context.ts';
import { type MessageToSave, toSavedContext } from '../../../src/core/saved/saved-context.ts';
import { defineAgent } from '../../../src/index.ts';
import { say, scriptedModel, testAgent } from '../../../src/testing/index.ts';

test('a conversation that is larger than the window of the agent is compacted before its first model call, and costs the run nothing', async () => {
  const agent = defineAgent({ name: 'clerk', model: 'scripted/model', window: { maxBytes: 6_000, keepResults: 1 } });
  const turns = Array.from({ length: 10 }, (_, turn): MessageToSave[] => [
    { role: 'user', content: `question ${turn} ${'x'.repeat(900)}` },
    { role: 'assistant', content: `answer ${turn}` },
  ]);
  const usage = { requests: 50, total_tokens: 1_000_000 };
  const { messages } = fromDocument(toSavedContext({ messages: turns.flat(), usage }), { agent: 'clerk' });
  const model = scriptedModel([say('They asked ten questions.'), say('done')]);
  const { result, events } = await testAgent(agent, { messages, input: 'And now?', model, limits: { totalTokens: 10_000 } });
  expect(result).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 1 });
  expect(events.filter(({ compaction }) => compaction !== undefined)).toHaveLength(1);
  const items = model.requests[1]?.conversation.flatMap(({ content }) => content) ?? [];
  expect(items.length).toBeLessThan(messages.length);
  expect(items.at(-1)).toMatchObject({ role: 'user', content: 'And now?' });
});
