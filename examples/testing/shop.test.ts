// Tests of the shop (../tools/shop.ts) and of the refund desk (../approvals/refunds.ts), for any test runner.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertTimeline, callTool, durableTest, forbidRealModels, killWorker, say, scriptedModel, testAgent } from 'longhaul/testing';
import { desk } from '../approvals/refunds.ts';
import { clerk, type Shop } from '../tools/shop.ts';

forbidRealModels(); // even a mistake in a test sends no request to a provider that costs money

const newShop = (): Shop => ({ stock: new Map([['pump', 3]]), payments: new Map() });
const buying = () => scriptedModel([callTool('add_to_cart', { article: 'pump' }), callTool('pay'), say('It is yours.')]);
const order = { input: 'A pump, please', deps: { userId: 'eve', cart: [] }, secrets: { 'payment-key': 'a-key-for-tests' } };

test('what a customer wants is put into the cart, and paid', async () => {
  const run = await testAgent(clerk, { ...order, model: buying(), resources: { shop: newShop() } });
  assertTimeline(run, [
    'user: A pump, please',
    'shop_clerk calls add_to_cart {"article":"pump"}',
    'add_to_cart: {"articles":1}',
    'deps: append cart',
    'shop_clerk calls pay {}',
    /^pay: receipt for pump/,
    'shop_clerk: It is yours.',
  ]);
});

test('a refund without a decision is rejected after a day', async () => {
  const model = scriptedModel([callTool('refund', { order: 42, amount: 150 }), say('I am sorry.')]);
  const { result, steps } = await testAgent(desk, { input: 'I sent it back', model });
  assert.match(steps[0]?.toolCalls[0]?.result ?? '', /nobody decided before the deadline/);
  assert.ok((result.durationSeconds ?? 0) > 24 * 3600); // in a few milliseconds
});

test('a worker that dies while it takes the money takes it once', async () => {
  const shop = newShop();
  const faults = [killWorker({ tool: 'pay' })];
  const { result } = await durableTest(clerk, { ...order, model: buying(), resources: { shop }, faults });
  assert.equal(result.output, 'It is yours.');
  assert.equal(shop.payments.size, 1);
});
