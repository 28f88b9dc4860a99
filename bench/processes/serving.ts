import { createServer } from 'node:http';
import { once } from 'node:events';
import { connect, memoryStreams, redisStreams } from 'longhaul/client';
import { createHandler, nodeListener } from 'longhaul/server';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';
import type { ServiceReply, ServiceRequest, ServiceSetting } from '../stream/serve.ts';

/**
 * The service of the built package, without a limit of callers: as `longhaul serve --no-worker` runs it, or with a worker inside, as
 * `longhaul serve --agents` does. Counts the queries that its client sends.
 */

const SAMPLE_MS = 1_000;

const { sink, redisUrl, ...setting } = readSetting<ServiceSetting>();
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
answerRequests<ServiceRequest, ServiceReply>({
  where: () => {
    const bound = server.address();
    return { type: 'where', url: `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}` };
  },
  count: () => {
    const count = { type: 'count', queries, rss: Math.max(rss, process.memoryUsage.rss()) } as const;
    queries = 0;
    rss = 0;
    return count;
  },
  stop: endAfter(async () => {
    server.closeAllConnections();
    await stopWorker?.();
  }),
});

/** Runs a worker in this process. Its packages are loaded here alone: a service without one does not have them. */
async function workInside(sinkOfBoth: NonNullable<typeof streams>): Promise<() => Promise<void>> {
  const { startReporter } = await import('../stream/reporter.ts');
  return startReporter(setting, sinkOfBoth);
}
