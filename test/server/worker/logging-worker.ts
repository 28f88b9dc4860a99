// A user's worker in a separate process: it makes its own bundle, and only the environment configures its log. Its tool logs,
// leaves a promise unhandled, and throws.
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { createWorker } from '../../../worker/index.ts';

const { TEST_ADDRESS = '', TEST_TASK_QUEUE = '' } = process.env;

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({}),
  maxAttempts: 2,
  backoff: { initial: 10 },
  execute: async (_, { log, retry, secret }) => {
    log.debug('looking');
    log.info('paying', { account: await secret('payment-key') });
    if (retry === 0) void Promise.reject(new Error('forgotten'));
    throw new TypeError('no account');
  },
});

const worker = await createWorker({
  address: TEST_ADDRESS,
  taskQueue: TEST_TASK_QUEUE,
  agents: [defineAgent({ name: 'payer', model: 'scripted/m', tools: [pay] })],
  providers: { scripted: scriptedModel([callTool('pay'), say('It failed.')]) },
});
process.stdout.write('ready\n');
await worker.run();
