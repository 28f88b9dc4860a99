import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import { connect } from 'longhaul/client';
import { callTool, say, scriptedModel, structured } from 'longhaul/testing';
import { createWorker, LonghaulPlugin } from 'longhaul/worker';
import { fileURLToPath } from 'node:url';
import { planner, surveyor } from './agents.ts';
import { sorting } from './programs.ts';
import type { journey } from './workflows.ts';

const [address = '', namespace = ''] = process.argv.slice(2);
const taskQueue = `package-${process.pid}-${Date.now()}`;
const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));
const agents = [surveyor, planner];
const scripted = scriptedModel([
  callTool('convert_miles', { miles: 100 }),
  say('160.9 km'),
  callTool('convert_miles', { miles: 100 }),
  say('160.9 km'),
  structured({ days: 4 }),
  structured({ kind: 'refund' }),
]);

const worker = await createWorker({ address, namespace, taskQueue, agents, programs: [sorting], providers: { scripted }, workflowsPath });
const client = await connect({ address, namespace, taskQueue });
const running = worker.run();

const run = await client.run(surveyor, { input: 'How far are 100 miles?', steps: true });
const host = await client.temporal.workflow.start<typeof journey>('journey', { taskQueue, workflowId: taskQueue, args: ['the coast'] });
const outcome = await host.result();
const sorted = await client.runProgram(sorting, { input: { ticket: 'Money back!' } });
const histories = [
  historyToJSON(await host.fetchHistory()),
  historyToJSON(await client.temporal.workflow.getHandle(run.runId).fetchHistory()),
];

worker.shutdown();
await running;
await client.close();

const plugin = new LonghaulPlugin({ agents, providers: { scripted } });
const workflowBundle = await bundleWorkflowCode({ workflowsPath, plugins: [plugin] });

/** Replays a history as JSON, in a process without a server, and returns the verdict. */
async function replay(history: string): Promise<string> {
  const parsed: unknown = JSON.parse(history);
  return Worker.runReplayHistory({ workflowBundle, plugins: [plugin] }, parsed).then(
    () => 'replayed',
    (error: unknown) => (error instanceof Error ? error.name : String(error)),
  );
}

const [hostHistory = '', runHistory = ''] = histories;
const replays = {
  host: await replay(hostHistory),
  run: await replay(runHistory),
  tampered: await replay(runHistory.replaceAll('"convert_miles"', '"convert_leagues"')),
};
scripted.assertUsedUp();
console.log(JSON.stringify({ summary: run.summary(), toolCallsByName: run.toolCallsByName, sorted: sorted.output, outcome, replays }));
