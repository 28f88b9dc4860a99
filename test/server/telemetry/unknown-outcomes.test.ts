import { Runtime } from '@temporalio/worker';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { prometheusMetrics, telemetry } from '../../../worker/index.ts';
import { Testbed } from '../testbed/testbed.ts';

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  effect: 'once',
  timeout: '300ms',
  execute: ({ amount }, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error(`the bank did not answer about ${amount}`)))),
});

test('a call whose outcome is unknown is counted with its tool, and is a warning in the log of the worker', async () => {
  await using testbed = await Testbed.open();
  const page = prometheusMetrics();
  const warn = vi.spyOn(Runtime.instance().logger, 'warn');
  const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay] });
  await testbed.work({
    agents: [clerk],
    providers: { scripted: scriptedModel([callTool('pay', { amount: 7 }), say('done')]) },
    telemetry: await telemetry({ tracerProvider: 'none', meterProvider: page }),
  });
  const result = await testbed.client.run(clerk, { input: 'Pay', taskQueue: testbed.taskQueue });
  expect(result.status).toBe('completed');
  expect(page.text()).toMatch(/^longhaul_outcomes_unknown_total\{gen_ai_tool_name="pay",gen_ai_agent_name="clerk"\} 1$/m);
  const lines = warn.mock.calls.map(([line]) => line).filter((line) => line.includes('outcome of a call'));
  expect(lines).toEqual([
    expect.stringContaining(`The outcome of a call of tool "pay" in run "${result.runId}" is unknown: it was started`),
  ]);
});
