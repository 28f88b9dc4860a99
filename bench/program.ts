import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { connect, type LonghaulClient } from '../src/client/index.ts';
import { ACTIVITIES } from '../src/core/protocol.ts';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { createWorker } from '../worker/index.ts';
import { AS_PUBLISHED } from '../test/processes/workflow-bundle.ts';
import { weighChain, edges } from './figures/encoded-history.ts';
import { describeMachine } from './figures/machine.ts';
import { readerAgent } from './sides/reader-agent.ts';
import { sequenceModel } from './script/scripted-models.ts';
import { mean, median, rounded, sum } from './figures/statistics.ts';
import type { ProgramOptions } from './options.ts';
import { promptFor } from './script/scripted-run.ts';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { type HistoryEvent, runHistory } from '../src/history/history-events.ts';
import { defineProgram } from '../src/index.ts';
import { ask, forEach, type ProgramDefinition, unit } from '../src/define/program/index.ts';
import type { ModelClient } from '../src/core/domain/model.ts';
import type { JsonValue } from '../src/core/domain/json.ts';
import { uniqueText } from './script/unique-text.ts';

const TASK_QUEUE = 'bench-program';

/** The program and the agent that it is compared with, on one server and one worker. */
interface Stage {
  client: LonghaulClient;
  options: ProgramOptions;
}

/** Measures what programs store and how long their steps take, with an agent's model calls in turn. */
export async function measureProgram(options: ProgramOptions, say: (line: string) => void): Promise<object> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const { address, namespace } = server;
  const connection = await NativeConnection.connect({ address });
  const client = await connect({ address, namespace });
  const { steps, resultChars } = options;
  const programs = options.fanOut === undefined ? [chainProgram(steps), chainProgram(steps + 1)] : [fanOutProgram(options.fanOut)];
  const worker = await createWorker({
    agents: [readerAgent(resultChars, { model: 'pages/model' })],
    programs,
    providers: { fake: textModel(resultChars), pages: sequenceModel() },
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    shutdownGrace: 1_000,
    worker: { bundlerOptions: AS_PUBLISHED },
  });
  const running = worker.run();
  try {
    const stage = { client, options };
    const figures = options.fanOut === undefined ? await measureChain(stage, say) : await measureFanOut(stage, options.fanOut);
    return { ...figures, machine: await describeMachine(client.temporal) };
  } finally {
    worker.shutdown();
    await running;
    await client.close();
    await connection.close();
    await server.stop();
  }
}

async function measureChain({ client, options }: Stage, say: (line: string) => void): Promise<object> {
  const { steps, resultChars, rounds } = options;
  const ofSteps: number[] = [];
  const ofCalls: number[] = [];
  let stored = await runChain(client, steps);
  const longer = await runChain(client, steps + 1);
  for (let round = 1; round <= rounds; round += 1) {
    const { turns: calls } = await runAgent(client, resultChars, Math.min(steps, 50));
    stored = await runChain(client, steps);
    ofSteps.push(median(stored.turns));
    ofCalls.push(median(calls));
    say(
      `round ${round} of ${rounds}: ${rounded(median(stored.turns), 2)} ms a step, ${rounded(median(calls), 2)} ms a model call of an agent`,
    );
  }
  const { first20, last20 } = edges(stored.stepBytes);
  const content = steps * resultChars;
  return {
    steps,
    events: stored.events,
    eventsPerStep: longer.events - stored.events,
    historyBytes: stored.bytes,
    contentBytes: content,
    amplification: rounded(stored.bytes / content, 3),
    bytesPerStepFirst20: rounded(first20, 1),
    bytesPerStepLast20: rounded(last20, 1),
    msPerStepP50: rounded(median(ofSteps), 2),
    msPerModelCallP50: rounded(median(ofCalls), 2),
    executions: stored.executions,
    maxBytesPerExecution: stored.maxBytes,
  };
}

interface Stored {
  events: number;
  bytes: number;
  executions: number;
  stepBytes: number[];
  maxBytes: number;
  /** Milliseconds between the scheduling of two successive model calls. */
  turns: number[];
}

async function runChain(client: LonghaulClient, steps: number): Promise<Stored> {
  const { runId, result } = await started(client, `chain-${steps}`, {});
  if (result.status !== 'completed') throw new Error(`Run "${runId}" ended with ${result.status}: ${result.error ?? ''}`);
  const weighed = await weighChain(client.temporal, runId, ACTIVITIES.askStep);
  const maxBytes = Math.max(...(await executionBytes(client.temporal, runId)));
  return { ...weighed, maxBytes, turns: await activityTurns(client.temporal, runId, ACTIVITIES.askStep) };
}

async function started(client: LonghaulClient, program: string, input: Record<string, string[]>) {
  const runId = `${program}-${randomUUID()}`;
  const result = await client.runProgram(program, { input, runId, taskQueue: TASK_QUEUE, limits: { steps: 100_000 } });
  return { runId, result };
}

async function runAgent(client: LonghaulClient, resultChars: number, steps: number): Promise<{ turns: number[] }> {
  const runId = `agent-${randomUUID()}`;
  const agent = readerAgent(resultChars, { model: 'pages/model' });
  await client.run(agent, { input: promptFor(steps), runId, taskQueue: TASK_QUEUE, limits: { steps: steps + 1 } });
  return { turns: await activityTurns(client.temporal, runId, ACTIVITIES.callModel) };
}

async function measureFanOut({ client, options }: Stage, atOnce: number): Promise<object> {
  const { steps } = options;
  const items = Array.from({ length: steps }, (_, index) => `item ${index}`);
  const begun = performance.now();
  const { runId, result } = await started(client, 'fan-out', { items });
  const ms = performance.now() - begun;
  const weighed = await weighChain(client.temporal, runId, ACTIVITIES.askStep);
  const bytes = await executionBytes(client.temporal, runId);
  return {
    items: steps,
    atOnce,
    status: result.status,
    modelCalls: result.stepsUsed,
    events: weighed.events,
    eventsPerItem: rounded(weighed.events / steps, 2),
    historyBytes: weighed.bytes,
    executions: weighed.executions,
    maxBytesPerExecution: Math.max(...bytes),
    meanBytesPerExecution: rounded(mean(bytes), 0),
    itemsPerSecond: rounded((steps * 1_000) / ms, 1),
  };
}

const { HistoryEvent: EncodedEvent } = proto.temporal.api.history.v1;

/** Yields the histories of all executions of a run, the newest first. */
async function* histories(client: Client, workflowId: string): AsyncGenerator<HistoryEvent[]> {
  for (let runId: string | null | undefined, first = true; first || runId; first = false) {
    const events: HistoryEvent[] = [];
    for await (const event of runHistory(client, workflowId, runId ?? undefined)) events.push(event);
    yield events;
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  }
}

/** Returns the bytes of each execution of a run. */
async function executionBytes(client: Client, workflowId: string): Promise<number[]> {
  const bytes: number[] = [];
  for await (const events of histories(client, workflowId))
    bytes.push(sum(events.map((event) => EncodedEvent.encode(event).finish().length)));
  return bytes;
}

/** Returns the milliseconds from the scheduling of each activity of that name to the scheduling of the next activity, in one execution. */
export async function activityTurns(client: Client, workflowId: string, name: string): Promise<number[]> {
  const turns: number[] = [];
  for await (const events of histories(client, workflowId)) {
    const scheduled = events.filter((event) => event.activityTaskScheduledEventAttributes);
    scheduled.forEach((event, index) => {
      const next = scheduled[index + 1];
      if (next !== undefined && event.activityTaskScheduledEventAttributes?.activityType?.name === name)
        turns.push(timeOf(next) - timeOf(event));
    });
  }
  return turns;
}

function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1_000_000;
}

const MODEL = 'fake/model';

/** A program of that many steps. Each step quotes the previous answer. */
function chainProgram(steps: number): ProgramDefinition<JsonValue, never> {
  const names = Array.from({ length: steps }, (_, index) => `S${index}`);
  const asks = names.map((name, index) => ask(name, index === 0 ? 'Begin.' : `Go on from: {{${names[index - 1]}}}`));
  return defineProgram({ name: `chain-${steps}`, model: MODEL, units: [unit('chain', {}, asks)], limits: { steps: steps + 1 } });
}

/** A program that asks about each item of a list, `atOnce` of them at once. */
function fanOutProgram(atOnce: number): ProgramDefinition<JsonValue, never> {
  return defineProgram({
    name: 'fan-out',
    model: MODEL,
    input: { type: 'object', properties: { items: { type: 'array', items: { type: 'string' } } }, required: ['items'] },
    units: [unit('fan', {}, [forEach('Sums', '{{input.items}}', { as: 'text', atOnce }, [ask('Sum', 'Sum up {{text}}')])])],
    output: 'done',
  });
}

/** A model that answers at once, each time with another text of `chars` characters. */
function textModel(chars: number): ModelClient {
  let calls = 0;
  return {
    capabilities: { structuredOutput: true },
    call: () => {
      calls += 1;
      const usage = { promptTokens: 10, completionTokens: 10, totalTokens: 20 };
      return Promise.resolve({ content: uniqueText(calls, chars), toolCalls: [], usage, finishReason: 'stop' });
    },
  };
}
