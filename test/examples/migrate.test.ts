import { expect, test } from 'vitest';
import { desk } from '../../examples/migrate/longhaul.ts';
import { approve, reject, testAgent } from '../../src/testing/index.ts';
import { openai } from '../../worker/index.ts';
import { refundModel } from './refund-model.ts';

test.each([
  [true, 'Refunded $120.'],
  [false, 'Not refunded.'],
])('the program of Longhaul looks up the order and waits for a person: approved %s', async (approved, answer) => {
  await using model = await refundModel();
  const { result } = await testAgent(desk, {
    input: 'Order 42 came back',
    model: openai({ baseURL: model.url, apiKey: 'unused', api: 'chat' }),
    decide: () => (approved ? approve() : reject('no')),
  });
  expect(result.output).toBe(answer);
  expect(model.requests).toBe(3);
});
