import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { connect } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { startFakeProvider } from '../../test/processes/fake-provider.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';
import { describeMachine } from '../figures/machine.ts';
import { rounded } from '../figures/statistics.ts';
import type { CrowdOptions } from '../options.ts';
import { TOOL_NAME } from '../script/scripted-run.ts';
import { MEASURED_MEMORY } from '../sides/measured-memory.ts';
import type { SideProcess, SideSetting } from '../sides/side-process.ts';

type Say = (line: string) => void;

const WORKER = fileURLToPath(new URL('../processes/bursts.ts', import.meta.url));

/** Runs before the first reading: they load and compile code, and open connections. */
const WARM_UP_RUNS = 8;

/** Milliseconds until idle connections are closed, and runs that have ended are out of the cache. */
const REST_MS = 10_000;

/** Measures what this many bursts leave in the heaps of their worker: each run has the steps of one burst. */
export async function measureBurstsAtOnce({ runs, steps, resultChars }: CrowdOptions, say: Say): Promise<object> {
  quietRuntime();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const provider = await startFakeProvider();
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const setting: SideSetting = {
    address,
    namespace,
    baseURL: provider.baseURL,
    resultChars,
    codec: 'none',
    tier: 'remote',
    calls: [ACTIVITIES.runBurst, TOOL_NAME],
  };
  const worker: SideProcess = new ProgramProcess(WORKER, setting, { execArgv: MEASURED_MEMORY });
  try {
    await worker.start();
    await runAtOnce(worker, WARM_UP_RUNS, steps);
    const before = await heapOf(worker);
    const start = performance.now();
    await runAtOnce(worker, runs, steps);
    const seconds = rounded((performance.now() - start) / 1_000, 1);
    const after = await heapOf(worker);
    say(`${runs} runs in bursts took ${seconds} s: the heaps had ${before} bytes before them, and ${after} after them`);
    const machine = await describeMachine(client.temporal);
    return {
      pace: 'burst',
      runs,
      steps,
      resultChars,
      seconds,
      heapBytesBefore: before,
      heapBytesAfter: after,
      growth: rounded(after / before, 3),
      machine,
    };
  } finally {
    await worker.stop({ type: 'stop' });
    await client.close();
    await provider.stop();
    await server.stop();
  }
}

async function heapOf(worker: SideProcess): Promise<number> {
  await pause(REST_MS);
  const { bytes } = await worker.ask({ type: 'heap' }, 'heap');
  return bytes;
}

async function runAtOnce(worker: SideProcess, runs: number, steps: number): Promise<void> {
  const ids = Array.from({ length: runs }, () => `at-once-${randomUUID()}`);
  await Promise.all(
    ids.map(async (runId) => {
      const { error } = await worker.ask({ type: 'run', runId, steps }, 'ran', (reply) => reply.runId === runId);
      if (error !== undefined) throw new Error(`Run "${runId}" came to no answer: ${error}`);
    }),
  );
}
