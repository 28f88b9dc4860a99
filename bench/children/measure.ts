import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { ACTIVITIES, SEARCH_ATTRIBUTES } from '../../src/core/protocol.ts';
import type { ModelClient } from '../../src/core/domain/model.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { agentTool, defineAgent } from '../../src/index.ts';
import { createWorker } from '../../worker/index.ts';
import { weighChain } from '../figures/encoded-history.ts';
import { describeMachine } from '../figures/machine.ts';
import { rounded } from '../figures/statistics.ts';
import type { ChildrenOptions } from '../options.ts';
import { AS_PUBLISHED } from '../../test/processes/workflow-bundle.ts';
import { AGENT_TOOL, delegatingModel, readingModel, requestOf, type Responses, silentModel, UNKNOWN_TOOL } from './delegating-model.ts';

const TASK_QUEUE = 'bench-children';
const PARENT = 'editor';

interface Server {
  client: LonghaulClient;
  address: string;
  namespace: string;
}

/** The history of a parent, and the milliseconds of its run. */
interface ParentFigures {
  events: number;
  bytes: number;
  ms: number;
}

/** Measures a run whose model asks for many agents in one response, a run whose model asks for one per response, and a cancelled run. */
export async function measureChildren(options: ChildrenOptions, say: (line: string) => void): Promise<object> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const { children, resultChars } = options;
  const dev = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const { address, namespace } = dev;
  const client = await connect({ address, namespace });
  const server: Server = { client, address, namespace };
  try {
    const run = async (name: string, responses: Responses): Promise<ParentFigures> => {
      const figures = await runParent(server, responses, options);
      say(`${name}: ${figures.events} events, ${figures.bytes} bytes, ${figures.ms} ms`);
      return figures;
    };
    // A response whose call is answered at once costs what the model call of a child costs.
    const none = await run('no child', [{ tool: UNKNOWN_TOOL, calls: 1 }]);
    const alone = await run('one child', [{ tool: AGENT_TOOL, calls: 1 }]);
    const together = await run(`${children} children`, [{ tool: AGENT_TOOL, calls: children }]);
    const refused = await run(`${children} calls of no tool`, [{ tool: UNKNOWN_TOOL, calls: children }]);
    const content = resultChars + Buffer.byteLength(requestOf(0));
    return {
      children,
      resultChars,
      eventsPerChildAlone: alone.events - none.events,
      eventsPerChild: rounded((together.events - refused.events) / children, 2),
      bytesPerChild: Math.round((together.bytes - refused.bytes) / children - content),
      ms: together.ms,
      cancelMs: await cancelTree(server, options, say),
      machine: await describeMachine(client.temporal),
    };
  } finally {
    await client.close();
    await dev.stop();
  }
}

async function runParent(server: Server, responses: Responses, { children, resultChars }: ChildrenOptions): Promise<ParentFigures> {
  const providers = { parent: delegatingModel(responses), child: readingModel(resultChars) };
  return withWorker(server, children, providers, async (agent) => {
    const runId = `children-${randomUUID()}`;
    const begun = performance.now();
    const result = await server.client.run(agent, { input: 'Read the pages.', runId, taskQueue: TASK_QUEUE });
    const ms = Math.round(performance.now() - begun);
    if (result.status !== 'completed') throw new Error(`Run "${runId}" ended with ${result.status}: ${result.error ?? ''}`);
    const { events, bytes } = await weighChain(server.client.temporal, runId, ACTIVITIES.callModel);
    return { events, bytes, ms };
  });
}

/** Returns the milliseconds from the request to cancel a parent until all runs of its tree are closed. */
async function cancelTree(server: Server, { children }: ChildrenOptions, say: (line: string) => void): Promise<number> {
  const silent = silentModel();
  const providers = { parent: delegatingModel([{ tool: AGENT_TOOL, calls: children }]), child: silent.client };
  return withWorker(server, children, providers, async (agent) => {
    const runId = `children-${randomUUID()}`;
    const handle = await server.client.start(agent, { input: 'Read the pages.', runId, taskQueue: TASK_QUEUE });
    while (silent.begun() < children) await delay(100);
    say(`${children} children call their model`);
    const begun = performance.now();
    await handle.cancel('The pages are out of date');
    await handle.result();
    for (;;) {
      const running = await countRunning(server.client);
      if (running === 0) return Math.round(performance.now() - begun);
      await delay(50);
    }
  });
}

/** Returns the number of runs that are open. The store of the listing lags by a fraction of a second. */
async function countRunning({ temporal }: LonghaulClient): Promise<number> {
  const { count } = await temporal.workflow.count(`ExecutionStatus = 'Running' AND ${SEARCH_ATTRIBUTES.agent} IS NOT NULL`);
  return count;
}

async function withWorker<Result>(
  { address, namespace }: Server,
  children: number,
  providers: Record<string, ModelClient>,
  work: (agent: AnyAgent) => Promise<Result>,
): Promise<Result> {
  const agent = parentOf(children);
  const connection = await NativeConnection.connect({ address });
  const worker = await createWorker({
    agents: [agent],
    providers,
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    shutdownGrace: 1_000,
    worker: { bundlerOptions: AS_PUBLISHED, maxConcurrentActivityTaskExecutions: 2 * children },
  });
  const running = worker.run();
  try {
    return await work(agent);
  } finally {
    worker.shutdown();
    await running;
    await connection.close();
  }
}

function parentOf(children: number): AnyAgent {
  const reader = defineAgent({ name: AGENT_TOOL, model: 'child/model', instructions: 'You read pages.' });
  return defineAgent({
    name: PARENT,
    model: 'parent/model',
    instructions: 'You let pages be read.',
    // All of them are alive at once: results of the default size would let fewer than 50 run in parallel.
    tools: [agentTool(reader, { maxResultBytes: 10_000 })],
    children: { alive: children, perTree: 2 * children },
  });
}
