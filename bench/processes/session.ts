import { NativeConnection } from '@temporalio/worker';
import { createWorker } from '../../worker/index.ts';
import { EndlessClock } from '../endless/endless-clock.ts';
import { collectHeaps } from '../sides/measured-memory.ts';
import { echoModel } from '../session/echo-model.ts';
import { EMPTY } from '../session/empty-protocol.ts';
import { now } from '../figures/machine.ts';
import type { SessionReply, SessionRequest, SessionSetting } from '../session/session-messages.ts';
import { talker } from '../session/talker.ts';
import { answerRequests, endAfter, readSetting, reply } from '../../test/processes/program.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

/** The worker of sessions, alone in its process: the memory of the process is the cost of the sessions. */

const { address, namespace, bundlePath, resultChars, cached } = readSetting<SessionSetting>();
quietRuntime();
const clock = new EndlessClock();
clock.sampled = (sample) => reply<SessionReply>({ type: 'sampled', ...sample });
const model = echoModel(resultChars);
const worker = await createWorker({
  agents: [talker],
  providers: { echo: model },
  connection: await NativeConnection.connect({ address }),
  namespace,
  shutdownGrace: 1_000,
  worker: {
    workflowBundle: { codePath: bundlePath },
    activities: { [EMPTY]: (id: string) => void model.calledAt.set(id, now()) },
    interceptors: { activity: [clock.interceptor] },
    ...(cached === undefined ? {} : { maxCachedWorkflows: cached }),
  },
});
const running = worker.run();
answerRequests<SessionRequest, SessionReply>({
  watch: ({ runId, steps }) => {
    clock.watch(runId, steps);
    return { type: 'watching' };
  },
  report: () => ({ type: 'report', ...clock.times() }),
  calls: () => {
    const calls = [...model.calledAt];
    model.calledAt.clear();
    return { type: 'calls', calls };
  },
  memory: async () => {
    await collectHeaps();
    return { type: 'memory', rss: process.memoryUsage.rss() };
  },
  stop: endAfter(() => {
    worker.shutdown();
    return running;
  }),
});
