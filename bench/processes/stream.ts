import { redisStreams } from '../../src/client/index.ts';
import { startWorkers, type WorkersSetting } from '../stream/stream-workers.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

/** The workers of runs that stream, in a process apart from the readers. Ends with the process that started it. */

const { url, ...setting } = JSON.parse(process.argv[2] ?? '') as WorkersSetting & { url: string };
quietRuntime();
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
process.on('SIGINT', () => undefined);
const stop = await startWorkers(setting, redisStreams({ url }));
process.on('message', () => void stop().then(() => process.exit()));
process.send?.({ type: 'ready' });
