import { NativeConnection } from '@temporalio/worker';
import { connect, memoryStreams, redisStreams } from '../../src/client/index.ts';
import { createHandler } from '../../src/server/index.ts';
import { listen } from '../../src/server/node/listen.ts';
import { createWorker } from '../../worker/index.ts';
import { reporter } from '../stream/served/reporter.ts';
import type { ServiceReply, ServiceRequest, ServiceSetting } from '../stream/served/serving-messages.ts';
import { tokenModel } from '../stream/token-model.ts';
import { quietRuntime } from './quiet-runtime.ts';

/**
 * The service, as `longhaul serve --agents` runs it: handler, client and worker in one process, without a limit of callers. Counts the
 * queries that its client sends. Ends with the process that started it.
 */

const SAMPLE_MS = 1_000;

const { address, namespace, bundlePath, sink, redisUrl } = JSON.parse(process.argv[2] ?? '') as ServiceSetting;
quietRuntime();
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
process.on('SIGINT', () => undefined);
let queries = 0;
let rss = 0;
setInterval(() => (rss = Math.max(rss, process.memoryUsage.rss())), SAMPLE_MS).unref();

const streams = sink === 'none' ? {} : { streams: sink === 'memory' ? memoryStreams() : redisStreams({ url: redisUrl }) };
const client = await connect({
  address,
  namespace,
  ...streams,
  client: {
    interceptors: {
      workflow: [
        {
          query: (input, next) => {
            queries += 1;
            return next(input);
          },
        },
      ],
    },
  },
});
const worker = await createWorker({
  agents: [reporter],
  providers: { tokens: tokenModel() },
  connection: await NativeConnection.connect({ address }),
  namespace,
  shutdownGrace: 1_000,
  worker: { workflowBundle: { codePath: bundlePath } },
  ...streams,
});
const running = worker.run();
const server = await listen(createHandler(client, { agents: [reporter], limits: false }), { host: '127.0.0.1', port: 0 });
process.on('message', (request: ServiceRequest) => void serve(request));
reply({ type: 'ready' });

async function serve({ type }: ServiceRequest): Promise<void> {
  switch (type) {
    case 'where':
      return reply({ type, url: server.url });
    case 'count':
      reply({ type, queries, rss: Math.max(rss, process.memoryUsage.rss()) });
      queries = 0;
      rss = 0;
      return;
    case 'stop':
      worker.shutdown();
      await server.close(0);
      await running;
      process.exit();
  }
}

function reply(message: ServiceReply): void {
  process.send?.(message);
}
