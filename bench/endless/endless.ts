import { randomUUID } from 'node:crypto';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { weighExecutions } from './endless-chain.ts';
import { checkExport } from './endless-export.ts';
import { endlessFigures } from './endless-figures.ts';
import { EndlessWorker } from './endless-worker.ts';
import { startFakeProvider } from '../../test/processes/fake-provider.ts';
import { describeMachine } from '../figures/machine.ts';
import type { EndlessOptions } from '../options/options.ts';
import { promptFor } from '../script/scripted-run.ts';
import { readerAgent } from '../sides/reader-agent.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';

type Say = (line: string) => void;

/**
 * The number of tool results that fill the window: it is full long before the first tenth of a run of a thousand steps or more
 * is over.
 */
const WINDOW_RESULTS = 50;
/** The bytes of a step in addition to the text of its result. */
const BESIDE_RESULT_BYTES = 300;
const MOST_WINDOW_BYTES = 1_200_000;

/** Runs that are not measured: they load and compile code, and open connections. */
const WARM_UP_RUNS = 4;
const WARM_UP_STEPS = 50;

const MIB = 1024 ** 2;

/**
 * Does one run of `steps` steps, which continues as new by itself, on a tuned dev server, a fake provider and a worker in separate
 * processes. Returns the object of the last line.
 */
export async function measureEndless({ steps, resultChars }: EndlessOptions, say: Say): Promise<object> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const [provider, bundle] = await Promise.all([startFakeProvider(), bundleToFile()]);
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const window = { maxBytes: Math.min(MOST_WINDOW_BYTES, WINDOW_RESULTS * (resultChars + BESIDE_RESULT_BYTES)) };
  const setting = { address, namespace, baseURL: provider.baseURL, resultChars, window, bundlePath: bundle.path };
  const worker = await EndlessWorker.start(setting);
  try {
    const play = { client, worker, agent: readerAgent(resultChars, { window }) };
    for (let run = 0; run < WARM_UP_RUNS; run += 1) await runSteps(play, `endless-warm-up-${randomUUID()}`, WARM_UP_STEPS);
    const runId = `endless-${randomUUID()}`;
    await worker.watch(runId, steps, ({ step, rss }) => {
      if (step % Math.ceil(steps / 10) === 0) say(`${step} of ${steps} steps, the worker holds ${(rss / MIB).toFixed(0)} MiB`);
    });
    await runSteps(play, runId, steps);
    const times = await worker.times();
    const executions = await weighExecutions(client.temporal, runId);
    say('reading the export of the whole run');
    const run = client.handle(runId);
    const { events } = await run.status();
    const { gaps, ...exported } = await checkExport(run.export(), { steps, resultChars, events });
    const figures = endlessFigures({ steps, executions, ...times, samples: worker.samples, exportGaps: gaps });
    const machine = { ...(await describeMachine(client.temporal)), modelClient: 'openai package, streamed Chat Completions' };
    return { ...figures, exported, resultChars, window, machine };
  } finally {
    await worker.stop();
    await client.close();
    await provider.stop();
    await bundle.remove();
    await server.stop();
  }
}

interface Play {
  client: LonghaulClient;
  worker: EndlessWorker;
  agent: ReturnType<typeof readerAgent>;
}

async function runSteps({ client, worker, agent }: Play, runId: string, steps: number): Promise<void> {
  const run = client.run(agent, { runId, input: promptFor(steps), limits: { steps: steps + 1 } });
  const { status, error } = await Promise.race([run, worker.died]);
  if (status !== 'completed') throw new Error(`Run "${runId}" ended as "${status}": ${String(error)}`);
}
