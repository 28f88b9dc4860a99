import { redisStreams } from 'longhaul/worker';
import { startReporter } from '../stream/served/reporter-worker.ts';
import type { ServiceSetting } from '../stream/served/serving-messages.ts';

/** The worker of a service that has none inside, in a process of its own. Ends with the process that started it. */

const { sink, redisUrl, ...setting } = JSON.parse(process.argv[2] ?? '') as ServiceSetting;
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
process.on('SIGINT', () => undefined);
const stop = await startReporter(setting, sink === 'redis' ? redisStreams({ url: redisUrl }) : undefined);
process.on('message', () => void stop().then(() => process.exit()));
process.send?.({ type: 'ready' });
