import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { quickjs } from '../../src/define/code.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { createWorker } from '../../worker/index.ts';
import { weighChain } from '../figures/encoded-history.ts';
import { describeMachine } from '../figures/machine.ts';
import { median, rounded } from '../figures/statistics.ts';
import type { CodeOptions } from '../options.ts';
import { activityTurns } from '../program/histories.ts';
import { TOOL_DESCRIPTION, TOOL_NAME } from '../script/scripted-run.ts';
import { uniqueText } from '../script/unique-text.ts';
import { AS_PUBLISHED } from '../../test/processes/workflow-bundle.ts';
import { codeOfStep, codingModel, type Way } from './coding-model.ts';
import { measureNamespaces } from './namespaces.ts';

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
