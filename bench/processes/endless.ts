import { NativeConnection } from '@temporalio/worker';
import { openai } from '../../activities/models/openai/openai.ts';
import { createWorker } from '../../worker/index.ts';
import { EndlessClock } from '../endless/endless-clock.ts';
import type { EndlessReply, EndlessRequest, EndlessSetting } from '../endless/endless-messages.ts';
import { readerAgent } from '../sides/reader-agent.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

/**
 * The worker of the endless run, alone in its process: the memory of the process and the duration of the steps are the cost of
 * the run.
 */

const { address, namespace, baseURL, resultChars, window, bundlePath } = JSON.parse(process.argv[2] ?? '') as EndlessSetting;
quietRuntime();
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
process.on('SIGINT', () => undefined);
const clock = new EndlessClock();
clock.sampled = (sample) => reply({ type: 'sampled', ...sample });
const worker = await createWorker({
  agents: [readerAgent(resultChars, { window })],
  providers: { fake: openai({ api: 'chat', baseURL, apiKey: 'unused' }) },
  connection: await NativeConnection.connect({ address }),
  namespace,
  shutdownGrace: 1_000,
  worker: { workflowBundle: { codePath: bundlePath }, interceptors: { activity: [clock.interceptor] } },
});
const running = worker.run();
process.on('message', (request: EndlessRequest) => void serve(request));
reply({ type: 'ready' });

async function serve(request: EndlessRequest): Promise<void> {
  switch (request.type) {
    case 'watch':
      clock.watch(request.runId, request.steps);
      return reply({ type: 'watching' });
    case 'report':
      return reply({ type: 'report', ...clock.times() });
    case 'stop':
      worker.shutdown();
      await running;
      process.exit();
  }
}

function reply(message: EndlessReply): void {
  process.send?.(message);
}
