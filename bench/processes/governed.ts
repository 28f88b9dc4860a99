import { NativeConnection } from '@temporalio/worker';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';
import { createWorker, openai, type ProviderLimitOptions, redisGovernor } from '../../worker/index.ts';
import { governedAgent } from '../governor/paced-provider.ts';

/** The setting of one of the workers that share a limit. */
export interface GovernedSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  bundlePath: string;
  providerURL: string;
  redisURL: string;
  limits: ProviderLimitOptions;
}

const { address, namespace, taskQueue, bundlePath, providerURL, redisURL, limits } = readSetting<GovernedSetting>();
quietRuntime();
const connection = await NativeConnection.connect({ address });
const worker = await createWorker({
  agents: [governedAgent],
  providers: { paced: openai({ baseURL: providerURL, apiKey: 'bench-key', api: 'chat' }) },
  governor: redisGovernor({ url: redisURL }),
  limits: { paced: limits },
  connection,
  namespace,
  taskQueue,
  shutdownGrace: 1_000,
  worker: { workflowBundle: { codePath: bundlePath } },
});
const running = worker.run();
answerRequests<{ type: 'stop' }, { type: 'ready' }>({
  stop: endAfter(async () => {
    worker.shutdown();
    await running;
    await connection.close();
  }),
});
