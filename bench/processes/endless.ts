import { NativeConnection } from '@temporalio/worker';
import { openai } from '../../activities/models/openai/openai.ts';
import { createWorker } from '../../worker/index.ts';
import { EndlessClock, type EndlessReply, type EndlessRequest, type EndlessSetting } from '../endless/endless-clock.ts';
import { readerAgent } from '../sides/reader-agent.ts';
import { answerRequests, endAfter, readSetting, reply } from '../../test/processes/program.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

/**
 * The worker of the endless run, alone in its process: the memory of the process and the duration of the steps are the cost of
 * the run.
 */

const { address, namespace, baseURL, resultChars, window, bundlePath } = readSetting<EndlessSetting>();
quietRuntime();
const clock = new EndlessClock();
clock.sampled = (sample) => reply<EndlessReply>({ type: 'sampled', ...sample });
const worker = await createWorker({
  agents: [readerAgent(resultChars, { window })],
  providers: { fake: openai({ api: 'chat', baseURL, apiKey: 'unused' }) },
  connection: await NativeConnection.connect({ address }),
  namespace,
  shutdownGrace: 1_000,
  worker: { workflowBundle: { codePath: bundlePath }, interceptors: { activity: [clock.interceptor] } },
});
const running = worker.run();
answerRequests<EndlessRequest, EndlessReply>({
  watch: ({ runId, steps }) => {
    clock.watch(runId, steps);
    return { type: 'watching' };
  },
  report: () => ({ type: 'report', ...clock.times() }),
  stop: endAfter(() => {
    worker.shutdown();
    return running;
  }),
});
