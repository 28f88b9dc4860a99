import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type LonghaulClient } from '../src/client/index.ts';
import { ACTIVITIES, SEARCH_ATTRIBUTES } from '../src/core/protocol.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../src/core/domain/model.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { agentTool, defineAgent } from '../src/index.ts';
import { createWorker } from '../worker/index.ts';
import { weighChain } from './figures/encoded-history.ts';
import { describeMachine } from './figures/machine.ts';
import { rounded } from './figures/statistics.ts';
import type { ChildrenOptions } from './options.ts';
import { AS_PUBLISHED } from '../test/processes/workflow-bundle.ts';
import { uniqueText } from './script/unique-text.ts';

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
  const { count } = await temporal.workflow.count(`ExecutionStatus = 'Running' AND ${SEARCH_ATTRIBUTES.status} IS NOT NULL`);
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

/** The name of the tool that runs an agent, and of one that the agent does not have: a call of it costs only a model call. */
const AGENT_TOOL = 'reader';
const UNKNOWN_TOOL = 'nothing';

/** The calls of each response of the parent, in order. The answer after the last of them ends the run. */
type Responses = { tool: string; calls: number }[];

/** Returns the task of a child: all have the same length. */
function requestOf(index: number): string {
  return `Read page ${10_000 + index}.`;
}

/** A model for a parent that makes the calls of a script. */
function delegatingModel(responses: Responses): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request) => {
      const made = resultsIn(request);
      let before = 0;
      for (const { tool, calls } of responses) {
        if (made === before) return Promise.resolve(asking(tool, before, calls));
        before += calls;
      }
      return Promise.resolve(answer('Done.'));
    },
  };
}

/** A model for children, which answers each task with a text of `resultChars` characters. */
function readingModel(resultChars: number): ModelClient {
  let page = 0;
  return {
    capabilities: { structuredOutput: true },
    call: () => Promise.resolve(answer(uniqueText((page += 1), resultChars))),
  };
}

/** A model for children that answers nothing until its call is aborted. `begun` counts its calls. */
function silentModel(): { client: ModelClient; begun: () => number } {
  let begun = 0;
  const client: ModelClient = {
    capabilities: { structuredOutput: true },
    call: (_, { signal }) => {
      begun += 1;
      return new Promise((_resolve, reject) => {
        const abort = (): void => reject(signal.reason as Error);
        if (signal.aborted) abort();
        else signal.addEventListener('abort', abort, { once: true });
      });
    },
  };
  return { client, begun: () => begun };
}

function asking(tool: string, first: number, calls: number): ModelResponse {
  const toolCalls = Array.from({ length: calls }, (_, index) => ({
    id: `call_${String(first + index).padStart(24, '0')}`,
    name: tool,
    arguments: JSON.stringify({ request: requestOf(first + index) }),
  }));
  return { ...answer(''), toolCalls, finishReason: 'tool_calls' };
}

function answer(content: string): ModelResponse {
  return { content, toolCalls: [], usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120 }, finishReason: 'stop' };
}

function resultsIn({ conversation }: ModelRequest): number {
  return conversation.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result').length;
}
