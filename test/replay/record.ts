// Records the histories that the replay test replays: `npm run record-histories` records the scenarios without a file, `npm run
// record-histories -- <name>...` the named ones. Keep the old files: they stand for runs that are still open.
import { type History, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/index.ts';
import { type ContextPage, QUERIES, type StepsPage } from '../../src/core/protocol.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { createWorker } from '../../worker/index.ts';
import type { RunRecordFile } from './histories.ts';
import { notebook } from './local-agents.ts';
import { agents } from './scenario-agents.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

const root = fileURLToPath(new URL('../../', import.meta.url));
const workflowsPath = fileURLToPath(new URL('../server/testbed/host-workflows.ts', import.meta.url));

function fileOf(name: string): URL {
  return new URL(`./histories/${name}.json`, import.meta.url);
}

/** Runs a scenario to its end. */
async function play(client: LonghaulClient, server: { address: string }, name: string, scenario: Scenario): Promise<void> {
  const { agent, start: said, script, workflowType, continueAt, workflowTaskTimeout, worker: options, meanwhile } = scenario;
  const scripted = scriptedModel(script);
  const continueAsNew = continueAt === undefined ? {} : { continueAsNew: { events: continueAt } };
  const providers = { scripted };
  const worker = await createWorker({
    address: server.address,
    taskQueue: name,
    agents,
    providers,
    workflowsPath,
    resources: { notebook },
    shutdownGrace: 100,
    ...continueAsNew,
    ...options,
  });
  const running = worker.run();
  const args = workflowType === undefined ? [{ agent, input: 'Q', deps: { user: 1 }, ...said }] : [workflowType === 'report' ? 'Q' : {}];
  const timing = workflowTaskTimeout === undefined ? {} : { workflowTaskTimeout };
  const start = { args, taskQueue: name, workflowId: name, ...timing };
  const handle = await client.temporal.workflow.start(workflowType ?? 'agentRun', start);
  const run = client.handle(name);
  await meanwhile?.(run, scripted, client);
  await handle.result().catch(() => undefined);
  if (workflowType === undefined) await writeRecord(client, name);
  worker.shutdown();
  await running;
}

/** Writes the events and steps of the run, execution by execution, as the worker answers from the sandbox. */
async function writeRecord(client: LonghaulClient, name: string): Promise<void> {
  const record: RunRecordFile = { events: [], steps: [] };
  for await (const { runId } of executionsOf(client, name)) {
    const execution = client.temporal.workflow.getHandle(name, runId);
    const { events } = await execution.query<ContextPage>(QUERIES.context);
    const { steps } = await execution.query<StepsPage>(QUERIES.steps);
    record.events.push(...events);
    record.steps.push(...steps);
  }
  await writeFile(new URL(`./records/${name}.json`, import.meta.url), `${JSON.stringify(record)}\n`);
}

/** Writes a file for each execution of a run; later ones have a number. */
async function write(client: LonghaulClient, name: string): Promise<void> {
  let execution = 0;
  for await (const { history } of executionsOf(client, name)) {
    execution += 1;
    // Stack traces name files of the recording machine, which are useless elsewhere.
    await writeFile(fileOf(execution === 1 ? name : `${name}-${execution}`), `${historyToJSON(history).replaceAll(root, '')}\n`);
  }
}

/** The executions of a run, the oldest first. */
async function* executionsOf(client: LonghaulClient, name: string): AsyncGenerator<{ runId: string; history: History }> {
  let runId = await firstRunId(client, name);
  while (runId) {
    const history = await client.temporal.workflow.getHandle(name, runId).fetchHistory();
    yield { runId, history };
    runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
}

/** The first execution of a run, which its newest execution names. */
async function firstRunId(client: LonghaulClient, name: string): Promise<string | null | undefined> {
  const { events } = await client.temporal.workflow.getHandle(name).fetchHistory();
  return events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId;
}

const named = process.argv.slice(2);
const names = named.length > 0 ? named : Object.keys(scenarios).filter((name) => !existsSync(fileOf(name)));
const server = await startDevServer({ say: (line) => console.error(line) });
const client = await connect({ address: server.address });
for (const name of names) {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`There is no scenario "${name}": there are ${Object.keys(scenarios).join(', ')}`);
  await play(client, server, name, scenario);
  await write(client, name);
  console.error(`recorded ${name}`);
}
await client.close();
await server.stop();
