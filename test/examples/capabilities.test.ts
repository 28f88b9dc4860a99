import { expect, test } from 'vitest';
import { desk } from '../../examples/capabilities/desk.ts';
import { approve, callTool, say, scriptedModel, testAgent, together } from '../../src/testing/index.ts';

test('an agent works with the instructions, tools, rules and deps of its capabilities', async () => {
  const { result, steps, requests } = await testAgent(desk, {
    input: 'My pump is broken',
    deps: { customer: 'Ada' },
    model: scriptedModel([
      together(callTool('look_up_order', { order: 1 }), callTool('look_up_order', { order: 13 }), callTool('list_invoices')),
      callTool('refund', { order: 1, amount: 70 }),
      say('Done.'),
    ]),
    decide: () => approve(),
  });
  expect(result.output).toBe('Done.');
  const instructions = JSON.stringify(requests[0]);
  expect(instructions).toMatch(/You answer.*Refund only what.*Name amounts in dollars/);
  expect(steps[0]?.toolCalls).toMatchObject([
    { capability: 'refunds', result: 'order 1 of Ada: a pump, delivered broken' },
    { capability: 'refunds', isError: true, notRun: 'refused' },
    { capability: 'billing', result: 'invoice 7: $70' },
  ]);
  expect(steps[1]?.toolCalls).toMatchObject([{ capability: 'refunds', result: 'refunded $70 for order 1' }]);
});
