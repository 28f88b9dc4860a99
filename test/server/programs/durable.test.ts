import { expect, test } from 'vitest';
import { z } from 'zod';
import { inject } from 'vitest';
import { defineTool } from '../../../src/define/define-tool.ts';
import { ask, defineProgram, parallel, tool, unit } from '../../../src/define/program/index.ts';
import type { RunContext } from '../../../src/define/context.ts';
import { cancelRun, durableTest, type EffectsLedger, killWorker, say, scriptedModel, testProgram } from '../../../src/testing/index.ts';

const charge = defineTool({
  name: 'charge',
  description: 'Charges an amount.',
  parameters: z.object({ amount: z.number() }),
  resources: ['ledger'],
  execute: ({ amount }, { resources, idempotencyKey }: RunContext<Record<string, unknown>, { ledger: EffectsLedger }>) => {
    resources.ledger.act(idempotencyKey, `charged ${amount}`);
    return { charged: amount };
  },
});

const bill = defineProgram({
  name: 'bill',
  model: 'scripted/model',
  input: z.object({ amount: z.number() }),
  units: [
    unit('pay', {}, [
      ask('Check', 'May {{input.amount}} be charged?'),
      tool('Charge', charge, { amount: '{{input.amount}}' }),
      parallel('Tell', [[ask('Mail', 'Write that {{Charge.charged}} was charged')], [ask('Note', 'Note it')]]),
    ]),
  ],
  output: '{{pay.Mail}}',
});

const server = { address: inject('temporalAddress'), namespace: inject('temporalNamespace') };

test('a program whose worker is killed during a tool call continues with another worker, and charges once', async () => {
  const { result, ledger } = await durableTest(bill, {
    ...server,
    input: { amount: 5 },
    model: scriptedModel([say('yes')], { repeatLast: true }),
    faults: [killWorker({ tool: 'charge' })],
  });
  expect(result).toMatchObject({ status: 'completed', error: null, output: 'yes' });
  expect(ledger.effects.map(({ what }) => what)).toEqual(['charged 5']);
}, 60_000);

test('a cancelled program ends as cancelled and keeps the results of its steps', async () => {
  const options = {
    input: { amount: 5 },
    model: () => scriptedModel([say('yes')], { repeatLast: true }),
    meanwhile: [cancelRun('changed my mind', { step: 2, tool: 'charge' })],
  };
  const durable = await durableTest(bill, { ...server, ...options, model: options.model() });
  const inMemory = await testProgram(bill, { ...options, model: options.model() });
  for (const { result } of [durable, inMemory]) {
    expect(result).toMatchObject({ status: 'cancelled', cancelReason: 'changed my mind' });
    expect(result.units[0]?.steps.map(({ name, status }) => [name, status])).toEqual([
      ['Check', 'completed'],
      ['Charge', 'running'],
    ]);
  }
}, 60_000);
