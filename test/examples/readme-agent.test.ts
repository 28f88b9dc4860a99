import { expect, test } from 'vitest';
import { agents } from '../../examples/readme/agents.ts';
import { approve, callTool, isUndecidedRun, say, scriptedModel, testAgent } from '../../src/testing/index.ts';

const [desk] = agents;
const refunding = (amount: number) => scriptedModel([callTool('refund', { order: 42, amount }), say('Done.')]);

test('the agent of the README waits for a person before it refunds more than $100, then pays', async () => {
  if (desk === undefined) throw new Error('examples/readme/agents.ts has no agent');
  const waiting = await testAgent(desk, { input: 'Order 42 came back', model: refunding(120) }).catch((error: unknown) => error);
  expect(isUndecidedRun(waiting)).toBe(true);

  const decided = await testAgent(desk, { input: 'Order 42 came back', model: refunding(120), decide: () => approve() });
  expect(decided.steps[0]?.toolCalls[0]?.result).toMatch(/^Paid \$120 for order 42/);
});

test('the agent of the README refunds less without a decision', async () => {
  if (desk === undefined) throw new Error('examples/readme/agents.ts has no agent');
  const { result } = await testAgent(desk, { input: 'Order 42 came back', model: refunding(20) });
  expect(result.output).toBe('Done.');
});
