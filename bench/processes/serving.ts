import { createServer } from 'node:http';
import { once } from 'node:events';
import { connect, memoryStreams, redisStreams } from 'longhaul/client';
import { createHandler, nodeListener } from 'longhaul/server';
import type { ServiceReply, ServiceRequest, ServiceSetting } from '../stream/served/serving-messages.ts';

/**
 * The service of the built package, without a limit of callers: as `longhaul serve --no-worker` runs it, or with a worker inside, as
 * `longhaul serve --agents` does. Counts the queries that its client sends. Ends with the process that started it.
 */

const SAMPLE_MS = 1_000;

const { sink, redisUrl, ...setting } = JSON.parse(process.argv[2] ?? '') as ServiceSetting;
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
process.on('SIGINT', () => undefined);
let queries = 0;
let rss = 0;
setInterval(() => (rss = Math.max(rss, process.memoryUsage.rss())), SAMPLE_MS).unref();

const streams = sink === 'none' ? undefined : sink === 'memory' ? memoryStreams() : redisStreams({ url: redisUrl });
const client = await connect({
  address: setting.address,
  namespace: setting.namespace,
  ...(streams === undefined ? {} : { streams }),
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
const stopWorker = sink === 'memory' && streams !== undefined ? await workInside(streams) : undefined;
const server = createServer(nodeListener(createHandler(client, { limits: false })));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.on('message', (request: ServiceRequest) => void serve(request));
reply({ type: 'ready' });

/** Runs a worker in this process. Its packages are loaded here alone: a service without one does not have them. */
async function workInside(sinkOfBoth: NonNullable<typeof streams>): Promise<() => Promise<void>> {
  const { startReporter } = await import('../stream/served/reporter-worker.ts');
  return startReporter(setting, sinkOfBoth);
}

async function serve({ type }: ServiceRequest): Promise<void> {
  switch (type) {
    case 'where': {
      const bound = server.address();
      return reply({ type, url: `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}` });
    }
    case 'count':
      reply({ type, queries, rss: Math.max(rss, process.memoryUsage.rss()) });
      queries = 0;
      rss = 0;
      return;
    case 'stop':
      server.closeAllConnections();
      await stopWorker?.();
      process.exit();
  }
}

function reply(message: ServiceReply): void {
  process.send?.(message);
}
