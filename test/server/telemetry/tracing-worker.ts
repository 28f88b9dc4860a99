// A worker that reports traces, in a separate process, so that a test can kill it. Its agents hand over and delegate.
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { z } from 'zod';
import { isToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import { agentTool, defineAgent, defineTool } from '../../../src/index.ts';
import { createWorker, prometheusMetrics, telemetry } from '../../../worker/index.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

const { TEST_BUNDLE = '', TEST_ADDRESS = '', TEST_TASK_QUEUE = '', TEST_TOOL_URL = '' } = process.env;

const work = defineTool({
  name: 'work',
  description: 'Does a piece of work',
  parameters: z.object({ n: z.number() }),
  execute: async ({ n }, { signal }) => (await fetch(`${TEST_TOOL_URL}/work/${n}`, { method: 'POST', signal })).text(),
});
/** Longer than the server waits for a heartbeat. */
const HELD_UP_MS = 2_000;

const holdUp = defineTool({
  name: 'hold_up',
  description: 'Lets its process do nothing else the first time it is called',
  parameters: z.object({}),
  execute: (_, { retry }) => {
    const until = Date.now() + (retry === 0 ? HELD_UP_MS : 0);
    while (Date.now() < until) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, until - Date.now());
    return 'done';
  },
});
const helper = defineAgent({ name: 'helper', model: 'by_rules/helper', description: 'Helps', tools: [work] });
const back = defineAgent({ name: 'back', model: 'by_rules/back', description: 'Knows all', tools: [agentTool(helper)] });
const front = defineAgent({ name: 'front', model: 'by_rules/front', tools: [work], handoffs: [back] });
const held = { model: 'by_rules/held', tools: [holdUp] } as const;
const alone = defineAgent({ name: 'held', ...held });
const inBursts = defineAgent({ name: 'held_in_bursts', ...held, burst: true });

/** What each agent calls before it answers, one call at a time. */
const CALLS: Readonly<Record<string, readonly { name: string; arguments: object }[]>> = {
  front: [
    { name: 'work', arguments: { n: 0 } },
    { name: 'transfer_to_agent', arguments: { agent: 'back' } },
  ],
  back: [{ name: 'helper', arguments: { request: 'Help' } }],
  helper: [{ name: 'work', arguments: { n: 1 } }],
  held: [{ name: 'hold_up', arguments: {} }],
};

/** A model whose answer depends on the request alone, and so is the same for every worker. */
const byRules: ModelClient = {
  capabilities: { structuredOutput: true },
  call: ({ model, conversation }: ModelRequest): Promise<ModelResponse> => {
    const called = new Set(conversation.flatMap(({ content }) => content.filter(isToolCall)).map(({ toolCallId }) => toolCallId));
    const calls = (CALLS[model] ?? []).map((call, index) => ({ ...call, id: `${model}-${index}` }));
    const next = calls.find(({ id }) => !called.has(id));
    const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };
    return Promise.resolve(
      next === undefined
        ? { content: `${model} is done`, toolCalls: [], usage, finishReason: 'stop' }
        : { content: '', toolCalls: [next], usage, finishReason: 'tool_calls' },
    );
  },
};

const worker = await createWorker({
  telemetry: await telemetry({ meterProvider: prometheusMetrics() }),
  address: TEST_ADDRESS,
  taskQueue: TEST_TASK_QUEUE,
  agents: [front, back, helper, alone, inBursts],
  providers: { by_rules: byRules },
  heartbeatEvery: 300,
  // A workflow task for a dead worker waits this long on that worker's own queue.
  worker: { stickyQueueScheduleToStartTimeout: 1_000, workflowBundle: { codePath: TEST_BUNDLE } },
});
process.stdout.write('ready\n');
await worker.run();
process.exit(0);
