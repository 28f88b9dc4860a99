import { redisStreams } from '../../src/client/index.ts';
import { startWorkers, type WorkersSetting } from '../stream/stream-workers.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';

/** The workers of runs that stream, in a process apart from the readers. */

const { url, ...setting } = readSetting<WorkersSetting & { url: string }>();
quietRuntime();
const stop = await startWorkers(setting, redisStreams({ url }));
answerRequests<{ type: 'stop' }, { type: 'ready' }>({ stop: endAfter(stop) });
