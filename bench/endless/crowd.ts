import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { createWorker, type CreateWorkerOptions } from '../../worker/index.ts';
import { CallClock } from '../sides/call-clock.ts';
import { type CrowdModel, crowdModel, runsThatDiffer } from '../script/scripted-models.ts';
import { describeMachine } from '../figures/machine.ts';
import type { CrowdOptions } from '../options.ts';
import { readerAgent } from '../sides/reader-agent.ts';
import { promptFor, TOOL_NAME } from '../script/scripted-run.ts';
import { rounded } from '../figures/statistics.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';

type Say = (line: string) => void;

/** The limits of a worker. */
type Limits = Pick<CreateWorkerOptions, 'transcriptCacheSize'> & { maxCachedWorkflows: number };

/** The outcome of the runs of a turn. */
interface Turn {
  finished: number;
  seconds: number;
  retries: number;
  requests: CrowdModel['requests'];
}

/** The environment of the turns. */
interface Stage {
  client: LonghaulClient;
  connection: NativeConnection;
  bundlePath: string;
}

/**
 * Does `runs` runs at once on one worker, three times: with all of them in its workflow cache, with a part of them, and with a
 * part and no conversation in memory, so that every call queries its run. Returns the object of the last line.
 */
export async function measureCrowd(options: CrowdOptions, say: Say): Promise<object> {
  const { runs, cached, steps, resultChars } = options;
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } } });
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const bundle = await bundleToFile();
  const { address, namespace } = server;
  const connection = await NativeConnection.connect({ address });
  // On a busy machine the first runs wait for the worker for a while: that is expected here.
  const client = await connect({ address, namespace, onNotice: () => undefined });
  const turn = async (name: string, limits: Limits): Promise<Turn> => {
    const played = await playTurn({ client, connection, bundlePath: bundle.path }, options, limits);
    say(`${name}: ${played.finished} of ${runs} runs finished within ${played.seconds} s`);
    return played;
  };
  try {
    const all = await turn('all runs cached', { maxCachedWorkflows: 2 * runs });
    const some = await turn(`${cached} runs cached`, { maxCachedWorkflows: cached });
    const cold = await turn(`${cached} runs cached, no conversation`, { maxCachedWorkflows: cached, transcriptCacheSize: 1 });
    return {
      runs,
      cached,
      steps,
      finished: Math.min(some.finished, cold.finished),
      requests: [...all.requests.values()].flat().length,
      runsThatDiffer: runsThatDiffer(all.requests, some.requests),
      runsThatDifferCold: runsThatDiffer(all.requests, cold.requests),
      retries: { all: all.retries, some: some.retries, cold: cold.retries },
      seconds: { all: all.seconds, some: some.seconds, cold: cold.seconds },
      resultChars,
      machine: { ...(await describeMachine(client.temporal)), modelClient: 'a function' },
    };
  } finally {
    await client.close();
    await connection.close();
    await bundle.remove();
    await server.stop();
  }
}

async function playTurn({ client, connection, bundlePath }: Stage, options: CrowdOptions, limits: Limits): Promise<Turn> {
  const { maxCachedWorkflows, ...cache } = limits;
  const agent = readerAgent(options.resultChars);
  const model = crowdModel();
  const clock = new CallClock([ACTIVITIES.resolveAgent, ACTIVITIES.callModel, TOOL_NAME]);
  const worker = await createWorker({
    agents: [agent],
    providers: { fake: model },
    connection,
    namespace: client.temporal.options.namespace,
    shutdownGrace: 1_000,
    ...cache,
    worker: { maxCachedWorkflows, workflowBundle: { codePath: bundlePath }, interceptors: { activity: [clock.interceptor] } },
  });
  const running = worker.run();
  const start = performance.now();
  const results = await Promise.all(
    Array.from({ length: options.runs }, async (_, run) =>
      client.run(agent, { input: `Run ${run}. ${promptFor(options.steps)}`, limits: { steps: options.steps + 1 } }),
    ),
  );
  const seconds = rounded((performance.now() - start) / 1_000, 1);
  worker.shutdown();
  await running;
  return {
    finished: results.filter(({ status }) => status === 'completed').length,
    seconds,
    retries: clock.retries,
    requests: model.requests,
  };
}
