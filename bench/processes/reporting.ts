import { redisStreams } from 'longhaul/worker';
import { startReporter } from '../stream/reporter.ts';
import type { ServiceSetting } from '../stream/serve.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';

/** The worker of a service without its own worker, in a separate process. */

const { sink, redisUrl, ...setting } = readSetting<ServiceSetting>();
const stop = await startReporter(setting, sink === 'redis' ? redisStreams({ url: redisUrl }) : undefined);
answerRequests<{ type: 'stop' }, { type: 'ready' }>({ stop: endAfter(stop) });
