import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { audit, clerk } from '../../examples/hooks/refunds.ts';
import { callTool, say, scriptedModel, testAgent, together } from '../../src/testing/index.ts';

test('a hook bounds refunds and denies one, and another gets every result', async () => {
  const { steps } = await testAgent(clerk, {
    input: 'Refund my orders',
    model: scriptedModel([
      together(callTool('refund', { order: 1, amount: 70 }), callTool('refund', { order: 13, amount: 5 })),
      say('Done.'),
    ]),
    hooks: [audit],
  });
  const lines = readFileSync(join(tmpdir(), 'audit.log'), 'utf8').trim().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ event: 'post_tool_use', payload: { arguments: { order: 1, amount: 50 } } });
  expect(steps[0]?.toolCalls).toMatchObject([
    { result: 'refunded $50 for order 1', hooks: [{ hook: 'bounds', answer: 'modify' }] },
    { isError: true, result: "The call of 'refund' was denied by a hook: order 13 is closed" },
  ]);
});
