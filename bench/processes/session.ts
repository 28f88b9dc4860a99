import { NativeConnection } from '@temporalio/worker';
import { createWorker } from '../../worker/index.ts';
import { EndlessClock } from '../endless/endless-clock.ts';
import { collectHeaps } from '../endless/thread-heap.ts';
import { echoModel } from '../session/echo-model.ts';
import { EMPTY } from '../session/empty-protocol.ts';
import { now } from '../figures/machine-clock.ts';
import type { SessionReply, SessionRequest, SessionSetting } from '../session/session-messages.ts';
import { talker } from '../session/talker.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

/** The worker of sessions, alone in its process: the memory of the process is the cost of the sessions. */

const { address, namespace, bundlePath, resultChars, cached } = JSON.parse(process.argv[2] ?? '') as SessionSetting;
quietRuntime();
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
process.on('SIGINT', () => undefined);
const clock = new EndlessClock();
clock.sampled = (sample) => reply({ type: 'sampled', ...sample });
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
process.on('message', (request: SessionRequest) => void serve(request));
reply({ type: 'ready' });

async function serve(request: SessionRequest): Promise<void> {
  switch (request.type) {
    case 'watch':
      clock.watch(request.runId, request.steps);
      return reply({ type: 'watching' });
    case 'report':
      return reply({ type: 'report', ...clock.times() });
    case 'calls': {
      const calls = [...model.calledAt];
      model.calledAt.clear();
      return reply({ type: 'calls', calls });
    }
    case 'memory':
      await collectHeaps();
      return reply({ type: 'memory', rss: process.memoryUsage.rss() });
    case 'stop':
      worker.shutdown();
      await running;
      process.exit();
  }
}

function reply(message: SessionReply): void {
  process.send?.(message);
}
