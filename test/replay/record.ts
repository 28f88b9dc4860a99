// Records the histories that the replay test replays: `npm run record-histories` records the scenarios without a file, `npm run
// record-histories -- <name>...` the named ones. From the first release on, keep the old files: they represent runs that are still open.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type History, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { type ContextPage, PROGRAM_RUN, QUERIES, type StepsPage } from '../../src/core/protocol.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { createWorker, type CreateWorkerOptions, inMemory } from '../../worker/index.ts';
import { fakeMemory } from '../fakes/fake-memory.ts';
import { historyFile, recordFile, type RunRecordFile } from './histories.ts';
import { agents, notebook } from './scenario-agents.ts';
import type { AgentScenario, ProgramScenario, Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Removes the paths of the recording machine, which stack traces name. `node_modules` may be a link to another folder. */
function withoutPaths(json: string): string {
  return json.replaceAll(root, '').replaceAll(/\/[\w./-]*\/(?=node_modules\/)/g, '');
}

/** A run that is to be recorded, and the runs that it has started as children. */
class RecordedRun {
  readonly #client: LonghaulClient;
  readonly #runId: string;

  constructor(client: LonghaulClient, runId: string) {
    this.#client = client;
    this.#runId = runId;
  }

  /** Writes the events and steps of the run and of its children, execution by execution, as the worker answers from the sandbox. */
  async writeRecords(): Promise<void> {
    const record: RunRecordFile = { events: [], steps: [] };
    for await (const { executionId } of this.#executions()) {
      const execution = this.#client.temporal.workflow.getHandle(this.#runId, executionId);
      const { events } = await execution.query<ContextPage>(QUERIES.context);
      const { steps } = await execution.query<StepsPage>(QUERIES.steps);
      record.events.push(...events);
      record.steps.push(...steps);
    }
    await writeFile(recordFile(this.#runId), `${JSON.stringify(record)}\n`);
    for (const child of await this.#children()) await child.writeRecords();
  }

  /** Writes a file for each execution of the run and of its children; later executions have a number. */
  async writeHistories(): Promise<void> {
    let execution = 0;
    for await (const { history } of this.#executions()) {
      execution += 1;
      await writeFile(historyFile(this.#runId, execution), `${withoutPaths(historyToJSON(history))}\n`);
    }
    for (const child of await this.#children()) await child.writeHistories();
  }

  /** Returns the children that are named for this run: the names of all others are random. */
  async #children(): Promise<RecordedRun[]> {
    const ids: string[] = [];
    for await (const { history } of this.#executions()) {
      for (const { startChildWorkflowExecutionInitiatedEventAttributes: start } of history.events ?? []) {
        if (start?.workflowId?.startsWith(`${this.#runId}/`)) ids.push(start.workflowId);
      }
    }
    return ids.map((id) => new RecordedRun(this.#client, id));
  }

  /** The executions of the run, the oldest first. */
  async *#executions(): AsyncGenerator<{ executionId: string; history: History }> {
    let executionId = await this.#firstExecution();
    while (executionId) {
      const history = await this.#client.temporal.workflow.getHandle(this.#runId, executionId).fetchHistory();
      yield { executionId, history };
      executionId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    }
  }

  /** Returns the first execution of the run, which its newest execution names. */
  async #firstExecution(): Promise<string | null | undefined> {
    const { events } = await this.#client.temporal.workflow.getHandle(this.#runId).fetchHistory();
    return events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId;
  }
}

Runtime.install({ logger: new DefaultLogger('ERROR') });

const workflowsPath = fileURLToPath(new URL('../server/testbed/host-workflows.ts', import.meta.url));

/** Runs a scenario to its end, and writes the record of its run. */
async function play(client: LonghaulClient, server: { address: string }, name: string, scenario: Scenario): Promise<void> {
  const { script, continueAt, workflowTaskTimeout, worker: options, meanwhile } = scenario;
  const scripted = scriptedModel(script);
  const child = scriptedModel(scenario.childScript ?? []);
  const worker = await createWorker({
    address: server.address,
    taskQueue: name,
    memory: fakeMemory(),
    ...definitionsOf(scenario),
    providers: { scripted, child },
    workflowsPath,
    resources: { notebook },
    shutdownGrace: 100,
    ...(continueAt === undefined ? {} : { continueAsNew: { events: continueAt } }),
    ...options,
  });
  const running = worker.run();
  if ('program' in scenario) await scenario.before?.(client, name);
  const { type, input } = 'program' in scenario ? programStart(scenario) : agentStart(scenario);
  const timing = workflowTaskTimeout === undefined ? {} : { workflowTaskTimeout };
  const handle = await client.temporal.workflow.start(type, { args: [input], taskQueue: name, workflowId: name, ...timing });
  await meanwhile?.(client.handle(name), scripted, client);
  await handle.result().catch(() => undefined);
  if (!('workflowType' in scenario)) await new RecordedRun(client, name).writeRecords();
  worker.shutdown();
  await running;
}

/** Returns the definitions of the worker: all agents for a run of one, a program with what it uses for another. */
function definitionsOf(scenario: Scenario): Pick<CreateWorkerOptions, 'programs' | 'tools' | 'memory'> & { agents: typeof agents } {
  if (!('program' in scenario)) return { agents };
  const { program, asDocument } = scenario;
  const memory = inMemory();
  if (asDocument) return { agents: [...program.agents], programs: program.programs, tools: program.tools, memory };
  return { agents: [], programs: [program], memory };
}

function agentStart({ agent, start, workflowType }: AgentScenario): { type: string; input: unknown } {
  if (workflowType !== undefined) return { type: workflowType, input: workflowType === 'report' ? 'Q' : {} };
  return { type: 'agentRun', input: { agent, ...(start?.session === undefined ? { input: 'Q' } : {}), deps: { user: 1 }, ...start } };
}

function programStart({ program, asDocument, start }: ProgramScenario): { type: string; input: unknown } {
  return { type: PROGRAM_RUN, input: { program: asDocument ? program.document : program.name, ...start } };
}

const named = process.argv.slice(2);
const names = named.length > 0 ? named : Object.keys(scenarios).filter((name) => !existsSync(historyFile(name)));
const server = await startDevServer({ say: (line) => console.error(line) });
const client = await connect({ address: server.address });
for (const name of names) {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`There is no scenario "${name}": there are ${Object.keys(scenarios).join(', ')}`);
  await play(client, server, name, scenario);
  await new RecordedRun(client, name).writeHistories();
  console.error(`recorded ${name}`);
}
await client.close();
await server.stop();
