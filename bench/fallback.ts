import { ModelCallError } from '../src/core/domain/errors.ts';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse } from '../src/core/domain/model.ts';
import { costOf, type ModelPrice, type UsageStats } from '../src/core/domain/usage.ts';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { connect, type LonghaulClient } from '../src/client/index.ts';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { defineAgent, defineTool } from '../src/index.ts';
import { createWorker } from '../worker/index.ts';
import { describeMachine, type Machine } from './figures/machine.ts';
import { median, percentile, rounded } from './figures/statistics.ts';
import type { FallbackOptions } from './options.ts';
import { AS_PUBLISHED } from '../test/processes/workflow-bundle.ts';

/** The models of the bench: the first one has outages. */
const FIRST = 'first/model';
const SECOND = 'second/model';

const PRICES: Record<string, ModelPrice> = { [FIRST]: { input: 10, output: 100 }, [SECOND]: { input: 1, output: 10 } };

/** The tool that each answer but the last one calls. */
const TOOL = 'look_up';

/** Steps of a run: all but the last one call the tool. */
const STEPS = 5;

const USAGE: UsageStats = { promptTokens: 1_000, completionTokens: 50, totalTokens: 1_050 };

/** The ways the first model fails: without a byte of an answer, or in the middle of an answer, which is paid for. */
const FAILURES = ['model_server_error', 'model_rate_limited', 'model_unauthorized', 'model_unreachable'] as const;

/** What the models have seen. */
interface Seen {
  /** Calls that the second model has answered because the first one had failed. */
  switched: number;
  /** Items that a model got but had not made. */
  wrongModelItems: number;
  /** Milliseconds from each failure of the first model to the request to the second. */
  addedMs: number[];
  /** US dollars of everything that was delivered, by the question of the run. */
  dollars: Map<string, number>;
}

/** Returns the two models. `outage`: the fraction of calls where the first one fails, the same calls in each measurement. */
function failingModels(outage: number): { providers: Record<string, ModelClient>; seen: Seen } {
  const seen: Seen = { switched: 0, wrongModelItems: 0, addedMs: [], dollars: new Map() };
  const failedAt = new Map<string, number>();
  let calls = 0;

  const charge = (name: string, question: string): void => {
    const cost = costOf(USAGE, PRICES[name] ?? { input: 0, output: 0 });
    seen.dollars.set(question, (seen.dollars.get(question) ?? 0) + cost);
  };
  const received = (name: string, { conversation }: ModelRequest): { question: string; answers: number } => {
    const items = conversation.flatMap(({ providerItems = [] }) => providerItems);
    seen.wrongModelItems += items.filter((item) => item !== name).length;
    const [question] = conversation.flatMap(({ content }) => content).flatMap((item) => (item.type === 'message' ? [item.content] : []));
    const answers = conversation.filter(({ content }) => content.some(({ type }) => type === 'tool_result')).length;
    return { question: JSON.stringify(question ?? ''), answers };
  };
  const answer = (name: string, request: ModelRequest, { onDelta }: ModelCallContext): ModelResponse => {
    const { question, answers } = received(name, request);
    charge(name, question);
    onDelta?.({ type: 'text', text: 'I look.' });
    const isLast = answers >= STEPS - 1;
    return {
      content: isLast ? 'Done.' : 'I look.',
      toolCalls: isLast ? [] : [{ id: `call ${answers + 1}`, name: TOOL, arguments: { page: answers + 1 } }],
      usage: USAGE,
      finishReason: isLast ? 'stop' : 'tool_calls',
      providerItems: [name],
    };
  };

  const first: ModelClient = {
    capabilities: { structuredOutput: true },
    rateLimitKey: () => undefined,
    call: async (request, context) => {
      calls += 1;
      // Spread evenly: of ten calls, an outage of 0.5 hits each second one.
      const isDown = Math.floor(calls * outage) > Math.floor((calls - 1) * outage);
      if (!isDown) return answer(FIRST, request, context);
      const code = FAILURES[Math.floor(calls * outage) % FAILURES.length] ?? 'model_server_error';
      const { question, answers } = received(FIRST, request);
      if (code === 'model_unreachable') {
        context.onDelta?.({ type: 'text', text: 'half an ans' });
        context.onUsage?.(USAGE);
        charge(FIRST, question);
      }
      failedAt.set(`${question} ${answers}`, performance.now());
      throw new ModelCallError(code, 'The provider is down');
    },
  };
  const second: ModelClient = {
    capabilities: { structuredOutput: true },
    rateLimitKey: () => undefined,
    call: async (request, context) => {
      const { question, answers } = received(SECOND, request);
      const key = `${question} ${answers}`;
      const since = failedAt.get(key);
      if (since !== undefined) {
        seen.addedMs.push(performance.now() - since);
        seen.switched += 1;
        failedAt.delete(key);
      }
      return answer(SECOND, request, context);
    },
  };
  return { providers: { first, second }, seen };
}

const TASK_QUEUE = 'bench-fallback';
const AT_ONCE = 10;

/** A difference of costs that is not due to rounding, in US dollars. */
const SOME_DOLLARS = 1e-9;

/** The figures of `fallback`. */
interface FallbackFigures {
  completed: number;
  failed: number;
  /** Calls that the second model has answered because the first one had failed. */
  switched: number;
  /** Items that a model got but had not made. */
  wrongModelItems: number;
  /** Events of a history, in the median, that a run without an outage does not have. */
  eventsAdded: number;
  /** From the failure of the first model to the request to the second. */
  addedMsP50: number;
  /** Runs whose recorded cost differs from the cost of the delivered answers. */
  doubleBilled: number;
  runs: number;
  outage: number;
  machine: Machine;
}

const agent = defineAgent({
  name: 'reader',
  model: [FIRST, SECOND],
  // Without a pause the first model is called in each turn, and fails as often as it can.
  fallback: { coolDown: 0 },
  instructions: 'You read pages.',
  tools: [
    defineTool({ name: TOOL, description: 'Reads a page', parameters: z.object({ page: z.int() }), execute: ({ page }) => `page ${page}` }),
  ],
});

/** One run that has ended. */
interface EndedRun {
  status: string;
  question: string;
  costUsd: number;
  events: number;
}

/** Measures runs of an agent with two models, where the first one fails in a fraction of its calls. */
export async function measureFallback({ runs, outage }: FallbackOptions, say: (line: string) => void): Promise<FallbackFigures> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const dev = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const { address, namespace } = dev;
  const client = await connect({ address, namespace });
  const connection = await NativeConnection.connect({ address });
  try {
    const measured = async (part: number, count: number): Promise<{ ended: EndedRun[]; seen: Seen }> => {
      const { providers, seen } = failingModels(part);
      const worker = await createWorker({
        agents: [agent],
        providers,
        prices: PRICES,
        connection,
        namespace,
        taskQueue: TASK_QUEUE,
        shutdownGrace: 1_000,
        worker: { bundlerOptions: AS_PUBLISHED },
      });
      const running = worker.run();
      try {
        return { ended: await runAll(client, count), seen };
      } finally {
        worker.shutdown();
        await running;
      }
    };
    const plain = await measured(0, AT_ONCE);
    say(`${plain.ended.length} runs without an outage`);
    const { ended, seen } = await measured(outage, runs);
    const completed = ended.filter(({ status }) => status === 'completed');
    const eventsOf = (list: readonly EndedRun[]): number => median(list.map(({ events }) => events));
    return {
      completed: completed.length,
      failed: ended.length - completed.length,
      switched: seen.switched,
      wrongModelItems: seen.wrongModelItems,
      eventsAdded: eventsOf(ended) - eventsOf(plain.ended),
      addedMsP50: seen.addedMs.length === 0 ? 0 : rounded(percentile(seen.addedMs, 50), 2),
      doubleBilled: ended.filter(({ question, costUsd }) => Math.abs(costUsd - (seen.dollars.get(question) ?? 0)) > SOME_DOLLARS).length,
      runs,
      outage,
      machine: await describeMachine(client.temporal),
    };
  } finally {
    await connection.close();
    await client.close();
    await dev.stop();
  }
}

async function runAll(client: LonghaulClient, count: number): Promise<EndedRun[]> {
  const ended: EndedRun[] = [];
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      ended.push(await runOne(client));
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, lane));
  return ended;
}

async function runOne(client: LonghaulClient): Promise<EndedRun> {
  const runId = `fallback-${randomUUID()}`;
  const question = `Read the pages of ${runId}.`;
  const { status, usage } = await client.run(agent, { input: question, runId, taskQueue: TASK_QUEUE });
  const { historyLength } = await client.temporal.workflow.getHandle(runId).describe();
  return { status, question: JSON.stringify(question), costUsd: usage.costUsd ?? 0, events: historyLength };
}
