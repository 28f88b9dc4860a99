import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { desk } from '../../examples/migrate/longhaul.ts';
import { approve, reject, testAgent } from '../../src/testing/index.ts';
import { openai } from '../../worker/index.ts';
import { refundModel } from './refund-model.ts';

const folder = new URL('../../examples/migrate/peers/', import.meta.url);

/** The program of a rival. */
interface Program {
  refundOrder: (baseURL: string, question: string, decide: () => Promise<boolean>) => Promise<string>;
}

const RIVALS = [
  { file: 'ai-sdk.ts', name: 'ai' },
  { file: 'langgraph.ts', name: '@langchain/langgraph' },
  { file: 'openai-agents.ts', name: '@openai/agents' },
];

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

for (const { file, name } of RIVALS) {
  const isInstalled = existsSync(new URL(`node_modules/${name}/package.json`, folder));
  test.skipIf(!isInstalled)(`the program of ${name} does the same (npm ci --prefix examples/migrate/peers)`, async () => {
    const { refundOrder } = (await import(new URL(file, folder).href)) as Program;
    for (const [approved, answer] of [
      [true, 'Refunded $120.'],
      [false, 'Not refunded.'],
    ] as const) {
      await using model = await refundModel();
      expect({ file, answer: await refundOrder(model.url, 'Order 42 came back', async () => approved) }).toEqual({ file, answer });
      expect(model.requests).toBe(3);
    }
  });
}
