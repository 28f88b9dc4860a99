import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';
import { callTool, say, scriptedModel, testAgent } from '../../src/testing/index.ts';

const parameters = z.object({
  order: z.string().regex(/^A-\d+$/, 'Use the form A-1'),
  reason: z.string().min(3, 'Say in a few words why').optional(),
  amount: z.number().max(100).optional(),
  parts: z.array(z.object({ name: z.string().min(2, 'Write the whole name') })).optional(),
});

/** What the model reads about a call with these arguments. */
async function told(args: object, of: z.ZodObject = parameters): Promise<unknown> {
  const refund = defineTool({ name: 'refund', description: 'Refunds', parameters: of, execute: () => 'paid' });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [refund] });
  const { events } = await testAgent(agent, { input: 'Hi', model: scriptedModel([callTool('refund', args), say('Sorry.')]) });
  const [result] = events.flatMap(({ content }) => content.filter((item) => item.type === 'tool_result'));
  return result?.content[0];
}

test.each([
  ['of a pattern', { order: '42' }, 'order: Use the form A-1'],
  ['of a length', { order: 'A-1', reason: 'x' }, 'reason: Say in a few words why'],
  ['in a list', { order: 'A-1', parts: [{ name: 'x' }] }, 'parts[0].name: Write the whole name'],
])('the model reads what the author of a tool has written for a check: %s', async (_, args, text) => {
  expect(await told(args)).toBe(`Invalid arguments for 'refund': ${text}`);
});

test('beside it, the model reads of what has no words of the author, as without them', async () => {
  const other = await told({ order: 'A-1', amount: 500 });
  expect(other).toMatch(/^Invalid arguments for 'refund': amount: .*100/);
  const both = String(await told({ order: '42', amount: 500 }));
  expect(both).toContain(String(other).slice("Invalid arguments for 'refund': ".length));
  expect(both).toContain('order: Use the form A-1');
  expect(await told({})).toBe(await told({}, z.object({ order: z.string() })));
});

test('a refinement is told as its author has written it, also if a text does not fit', async () => {
  const refined = z
    .object({ from: z.number(), to: z.number({ error: 'Write the last day as a number' }) })
    .refine(({ from, to }) => from < to, 'from is before to');
  expect(await told({ from: 2, to: 1 }, refined)).toContain('from is before to');
  expect(await told({ from: 2, to: 'tomorrow' }, refined)).toContain('to: Write the last day as a number');
});
