// A worker and a service with a page of metrics, in a separate process: the metrics of Temporal's Core exist only in a process without an
// earlier Runtime.
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { z } from 'zod';
import { connect } from '../../../src/client/index.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { createHandler } from '../../../src/server/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { createWorker, prometheusMetrics, serveMetrics, telemetry } from '../../../worker/index.ts';

const { TEST_BUNDLE = '', TEST_ADDRESS = '', TEST_TASK_QUEUE = '', TEST_SECRET = '', TEST_OWN_METRICS = '' } = process.env;

// A Runtime of the user, which has its own page.
const ownMetrics = { prometheus: { bindAddress: TEST_OWN_METRICS } };
if (TEST_OWN_METRICS !== '') Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { metrics: ownMetrics } });

const page = prometheusMetrics();
const reported = await telemetry({ tracerProvider: 'none', meterProvider: page });
const server = await serveMetrics(page, { port: 0 });
const search = defineTool({
  name: 'search',
  description: 'Searches',
  parameters: z.object({ query: z.string() }),
  execute: async ({ query }, { secret }) => `${query} ${(await secret('traced-token')).length}`,
});
const agent = defineAgent({ name: 'clerk', model: ['down/model', 'up/model'], instructions: 'Answer.', tools: [search] });
const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120, cachedTokens: 80, cacheWriteTokens: 10, reasoningTokens: 5 };
const script = [
  { ...callTool('search', { query: TEST_SECRET }), usage },
  { ...callTool('search', { query: 'more' }), usage },
  say('done', { usage }),
];
const worker = await createWorker({
  address: TEST_ADDRESS,
  taskQueue: TEST_TASK_QUEUE,
  agents: [agent],
  providers: {
    down: { capabilities: { structuredOutput: true }, call: () => Promise.reject(new ModelCallError('model_server_error', 'it is down')) },
    up: scriptedModel(script),
  },
  prices: { 'up/model': { input: 1, output: 2 }, 'down/model': { input: 1, output: 2 } },
  telemetry: reported,
  worker: { workflowBundle: { codePath: TEST_BUNDLE } },
});
const running = worker.run();
const principal = { tenant: 'acme', user: 'ada' };
const client = await connect({ address: TEST_ADDRESS });
const handler = createHandler(client, {
  telemetry: reported,
  authenticate: async () => ({ id: 'ada', scopes: ['runs:read'], principal }),
});
const result = await client.run(agent, { input: TEST_SECRET, taskQueue: TEST_TASK_QUEUE, principal });
await handler(new Request(`http://localhost/v1/runs/${result.runId}`));
await handler(new Request('http://localhost/v1/nothing/here'));
// Values that are measured elsewhere come once a second, and the count of waiting runs comes from a search.
let text = '';
do {
  await new Promise((resolve) => setTimeout(resolve, 100));
  text = await (await fetch(server.url)).text();
} while (!/^longhaul_approvals_waiting \d/m.test(text) || !/^longhaul_runs_ended_total\{/m.test(text));
const own = TEST_OWN_METRICS === '' ? '' : await (await fetch(`http://${TEST_OWN_METRICS}/metrics`)).text();
worker.shutdown();
await running;
await client.close();
process.stdout.write(`${JSON.stringify({ text, own, runId: result.runId, status: result.status, dollars: result.usage.costUsd })}\n`);
process.exit(0);
