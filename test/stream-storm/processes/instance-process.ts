import { connect, redisStreams } from '../../../src/client/index.ts';
import { createHandler } from '../../../src/server/index.ts';
import { listen, shutDown } from '../../../src/server/node-server.ts';
import { readSetting, reply } from '../../processes/program.ts';
import type { ServiceSetting } from './storm-testbed.ts';

/** A service of the storm, in a separate process. SIGTERM ends it as it ends `longhaul serve`. */

const GRACE_MS = 10_000;

const { address, namespace, taskQueue, redisUrl, port, drainMs } = readSetting<ServiceSetting>();
const [draining, closing] = [new AbortController(), new AbortController()];
const client = await connect({
  address,
  namespace,
  taskQueue,
  streams: redisStreams({ url: redisUrl }),
  // The loss of Redis is what the storm is about.
  onNotice: () => undefined,
});
const handler = createHandler(client, { limits: false, draining: draining.signal, closing: closing.signal });
const server = await listen(handler, { host: '127.0.0.1', port });
process.once('SIGTERM', () => {
  void shutDown({ server, draining, closing, drainMs, graceMs: GRACE_MS }).then(() => process.exit(0));
});
reply({ type: 'ready' });
