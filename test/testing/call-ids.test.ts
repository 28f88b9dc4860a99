import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';
import { isToolCall } from '../../src/core/domain/content.ts';
import type { Event } from '../../src/core/domain/record.ts';
import { callTool, say, scriptedModel, testAgent, together } from '../../src/testing/index.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Refunds',
  parameters: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
});

/** A model whose server counts the calls of each answer from zero. */
const refunds = (amount: number) => callTool('refund', { amount }, 'call_0');

const callIds = (events: readonly Event[]): string[] =>
  events.flatMap(({ content }) => content.filter(isToolCall).map(({ toolCallId }) => toolCallId));

test('a call gets an id that no earlier call of the run has, also if a summary has replaced the earlier call', async () => {
  const agent = defineAgent({ name: 'bot', model: 'scripted/model', tools: [refund], window: { maxBytes: 6_000 } });
  const long = say('x'.repeat(4_000));
  const model = scriptedModel([
    together(long, refunds(1)),
    together(long, refunds(2)),
    say('A summary.'),
    together(long, refunds(3)),
    say('Another summary.'),
    refunds(4),
    say('Done.'),
  ]);
  const { result, events } = await testAgent(agent, { input: 'Q', model });
  expect(result.output).toBe('Done.');
  expect(events.filter(({ compaction }) => compaction?.summarized !== undefined)).toHaveLength(2);
  expect(callIds(events)).toEqual(['call_0', 'call_0-2', 'call_0-3', 'call_0-4']);
});
