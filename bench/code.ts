import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { connect, type LonghaulClient } from '../src/client/index.ts';
import { ACTIVITIES } from '../src/core/protocol.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import { quickjs } from '../src/define/code.ts';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { defineAgent, defineTool } from '../src/index.ts';
import { createWorker } from '../worker/index.ts';
import { weighChain } from './figures/encoded-history.ts';
import { describeMachine } from './figures/machine.ts';
import { median, rounded } from './figures/statistics.ts';
import type { CodeOptions } from './options.ts';
import { activityTurns } from './program.ts';
import { TOOL_DESCRIPTION, TOOL_NAME } from './script/scripted-run.ts';
import { uniqueText } from './script/unique-text.ts';
import { AS_PUBLISHED } from '../test/processes/workflow-bundle.ts';
import { RUN_CODE } from '../src/core/domain/tool-calls.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../src/core/domain/model.ts';
import { createAgentExecutor } from '../activities/executors/create-executor.ts';
import type { CodeCallResult, Executor, Segment } from '../src/core/domain/execution.ts';

const TASK_QUEUE = 'bench-code';

/** The figures of one run. */
interface RunFigures {
  events: number;
  bytes: number;
  executions: number;
  requestBytesLast: number;
  /** Milliseconds between the scheduling of two successive calls. */
  turns: number[];
}

/** Measures runs whose code calls a tool, sequentially and together, compared with the same calls without code. */
export async function measureCode(options: CodeOptions, say: (line: string) => void): Promise<object> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const { steps, calls, resultChars } = options;
  const namespaces = await measureNamespaces(steps, calls, resultChars);
  say(`${namespaces.msColdP50} ms for a first cell, ${namespaces.msRebuild} ms to run ${steps} cells again`);
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  try {
    const run = async (way: Way, count = steps): Promise<RunFigures> => {
      const figures = await runOf(client, { address, namespace }, { ...options, way, steps: count });
      say(`${way}, ${count} steps: ${figures.events} events, ${figures.bytes} bytes, ${figures.executions} executions`);
      return figures;
    };
    const sequence = await run('sequence');
    const longer = await run('sequence', steps + 1);
    const together = await run('together');
    const oneMoreTogether = await run('together', steps + 1);
    const plain = await run('plain');
    const content = steps * calls * resultChars + codeBytes(steps, calls);
    return {
      steps,
      calls,
      resultChars,
      events: sequence.events,
      eventsPerStep: longer.events - sequence.events,
      eventsPerStepTogether: oneMoreTogether.events - together.events,
      eventsPerStepPlain: rounded(plain.events / steps, 2),
      historyBytes: sequence.bytes,
      contentBytes: content,
      amplification: rounded(sequence.bytes / content, 3),
      requestBytesLast: sequence.requestBytesLast,
      plainRequestBytesLast: plain.requestBytesLast,
      requestRatio: rounded(sequence.requestBytesLast / plain.requestBytesLast, 4),
      msPerSegmentP50: rounded(median(sequence.turns), 2),
      msPerPlainCallP50: rounded(median(plain.turns), 2),
      ...namespaces,
      executions: sequence.executions,
      machine: await describeMachine(client.temporal),
    };
  } finally {
    await client.close();
    await server.stop();
  }
}

async function runOf(
  client: LonghaulClient,
  { address, namespace }: { address: string; namespace: string },
  script: CodeOptions & { way: Way },
): Promise<RunFigures> {
  const { way, steps, calls, resultChars } = script;
  const model = codingModel({ way, steps, calls });
  const agent = reader(way, resultChars);
  const connection = await NativeConnection.connect({ address });
  const worker = await createWorker({
    agents: [agent],
    providers: { fake: model.client },
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    shutdownGrace: 1_000,
    worker: { bundlerOptions: AS_PUBLISHED },
  });
  const running = worker.run();
  try {
    const runId = `${way}-${randomUUID()}`;
    const limits = { steps: steps * calls + 1 };
    const result = await client.run(agent, { input: 'Read the pages.', runId, taskQueue: TASK_QUEUE, limits });
    if (result.status !== 'completed') throw new Error(`Run "${runId}" ended with ${result.status}: ${result.error ?? ''}`);
    const { events, bytes, executions } = await weighChain(client.temporal, runId, ACTIVITIES.callModel);
    const turns = await activityTurns(client.temporal, runId, TOOL_NAME);
    return { events, bytes, executions, requestBytesLast: model.lastRequestBytes(), turns };
  } finally {
    worker.shutdown();
    await running;
    await connection.close();
  }
}

function reader(way: Way, resultChars: number): AnyAgent {
  return defineAgent({
    name: `reader-${way}`,
    model: 'fake/model',
    instructions: 'You read pages.',
    tools: [
      defineTool({
        name: TOOL_NAME,
        description: TOOL_DESCRIPTION,
        parameters: z.object({ page: z.number() }),
        execute: ({ page }) => uniqueText(page, resultChars),
      }),
    ],
    ...(way === 'plain'
      ? {}
      : { code: { executor: quickjs({ limits: { timeoutSeconds: 10, maxMemoryMb: 64 } }), tier: 'local' as const } }),
    // The plain calls are compared by their whole conversation.
    window: { maxTokens: 2_000_000 },
  });
}

function codeBytes(steps: number, calls: number): number {
  let bytes = 0;
  for (let step = 0; step < steps; step += 1) bytes += Buffer.byteLength(codeOfStep(step, { way: 'sequence', calls }));
  return bytes;
}

/** How a step calls the tool: sequentially from code, all calls together from code, or without code. */
type Way = 'sequence' | 'together' | 'plain';

/** The script of a run. */
interface CodingScript {
  way: Way;
  steps: number;
  /** The calls of each step. */
  calls: number;
}

/** The number of the first page. All pages have numbers of the same length. */
const FIRST_PAGE = 10_001;

/** A model that asks for `calls` calls in each of `steps` steps, with the bytes of its last request. */
function codingModel({ way, steps, calls }: CodingScript): { client: ModelClient; lastRequestBytes: () => number } {
  let last = 0;
  let answered = 0;
  const answers = way === 'plain' ? steps * calls : steps;
  const client: ModelClient = {
    capabilities: { structuredOutput: true },
    call: (request) => {
      last = requestBytes(request);
      answered = request.conversation.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result').length;
      return Promise.resolve(answered >= answers ? answer('Done.') : next(answered, { way, steps, calls }));
    },
  };
  return { client, lastRequestBytes: () => last };
}

/** The code of a step: its calls, and one line of output. */
function codeOfStep(step: number, { way, calls }: Pick<CodingScript, 'way' | 'calls'>): string {
  const first = FIRST_PAGE + step * calls;
  if (way === 'sequence') {
    return `let length${step} = 0;\nfor (let page = ${first}; page < ${first + calls}; page += 1) length${step} += ${TOOL_NAME}({ page }).length;\nprint(length${step});`;
  }
  const pages = `Array.from({ length: ${calls} }, (_, index) => tools.${TOOL_NAME}({ page: ${first} + index }))`;
  return `const texts${step} = await Promise.all(${pages});\nprint(texts${step}.reduce((sum, text) => sum + text.length, 0));`;
}

function next(answered: number, script: CodingScript): ModelResponse {
  const id = `call_${String(answered).padStart(24, '0')}`;
  const call =
    script.way === 'plain'
      ? { id, name: TOOL_NAME, arguments: JSON.stringify({ page: FIRST_PAGE + answered }) }
      : { id, name: RUN_CODE, arguments: JSON.stringify({ code: codeOfStep(answered, script) }) };
  return { ...answer(''), toolCalls: [call], finishReason: 'tool_calls' };
}

function answer(content: string): ModelResponse {
  return { content, toolCalls: [], usage: null, finishReason: 'stop' };
}

function requestBytes({ instructions, conversation, tools }: ModelRequest): number {
  return Buffer.byteLength(JSON.stringify({ instructions, conversation, tools }));
}

/** The number of executors measured for the median and the memory. */
const EXECUTORS = 20;

const MOMENT = { now: 1_700_000_000_000, seed: 7 };

/** The time and the size of executors, apart from any run. */
interface NamespaceFigures {
  /** Milliseconds of the first cell of a new executor. */
  msColdP50: number;
  /** Milliseconds until a new executor has run all cells of a run again, with recorded results. */
  msRebuild: number;
  rssPerNamespaceMb: number;
  checkpointBytes: number;
}

/** Measures new executors, and one that runs `steps` cells of `calls` calls with results of `resultChars` characters. */
async function measureNamespaces(steps: number, calls: number, resultChars: number): Promise<NamespaceFigures> {
  await (await started()).close();
  const cold: number[] = [];
  const executors: Executor[] = [];
  const before = process.memoryUsage.rss();
  for (let index = 0; index < EXECUTORS; index += 1) {
    const begun = performance.now();
    const executor = await started();
    cold.push(performance.now() - begun);
    executors.push(executor);
  }
  const rss = process.memoryUsage.rss() - before;
  await Promise.all(executors.map((executor) => executor.close()));
  const begun = performance.now();
  const rebuilt = await started();
  for (let step = 0; step < steps; step += 1) await runStep(rebuilt, step, calls, resultChars);
  const msRebuild = performance.now() - begun;
  const checkpoint = await rebuilt.checkpoint?.();
  await rebuilt.close();
  return {
    msColdP50: rounded(median(cold), 1),
    msRebuild: rounded(msRebuild, 1),
    rssPerNamespaceMb: rounded(rss / EXECUTORS / 1_048_576, 2),
    checkpointBytes: checkpoint?.byteLength ?? 0,
  };
}

async function started(): Promise<Executor> {
  const tools = [{ name: TOOL_NAME, parameters: ['page'] }];
  const executor = await createAgentExecutor(quickjs({ limits: { timeoutSeconds: 10, maxMemoryMb: 64 } }), { tools, scratchpad: false });
  const { result } = ended(await executor.begin('const ready = true;', MOMENT));
  if (!result.success) throw new Error(`The first cell failed: ${result.error?.message}`);
  return executor;
}

async function runStep(executor: Executor, step: number, calls: number, resultChars: number): Promise<void> {
  let segment = await executor.begin(codeOfStep(step, { way: 'sequence', calls }), MOMENT);
  while (segment.type === 'calls') {
    const results = segment.calls.map((call): CodeCallResult => ({ value: uniqueText(Number(call.arguments['page']), resultChars) }));
    segment = await executor.resume(results);
  }
  if (segment.result.output !== String(calls * resultChars)) throw new Error(`Step ${step} printed "${segment.result.output}"`);
}

function ended(segment: Segment): Extract<Segment, { type: 'ended' }> {
  if (segment.type === 'ended') return segment;
  throw new Error('The cell waits for calls');
}
