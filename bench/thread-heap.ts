import { isMainThread, postMessageToThread } from 'node:worker_threads';

/**
 * Loaded ahead of everything into a process and its threads (`--import`, with `--expose-gc`), so that the heap of the
 * thread that runs workflows can be collected before memory is read: nothing else reaches into that thread.
 */

/** Bytes that the two heaps of a worker's process hold. */
export interface CollectedHeaps {
  main: number;
  /** Of the thread that runs workflows. */
  workflows: number;
}

const MAIN_THREAD = 0;

/** What threads have said: that they are there, and the bytes that they hold once they have collected. */
const threads = new Set<number>();
let answered = Promise.withResolvers<number>();

/** Collects the heap of the main thread and that of the workflow thread. To be called in the main thread, once at a time. Throws where no workflow thread has begun. */
export async function collectHeaps(): Promise<CollectedHeaps> {
  const [thread] = threads;
  if (thread === undefined) throw new Error('No thread runs workflows, or the process was started without this module');
  answered = Promise.withResolvers<number>();
  await postMessageToThread(thread, 'collect');
  return { main: collect(), workflows: await answered.promise };
}

function collect(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

if (isMainThread) {
  process.on('workerMessage', (bytes: number | 'here', thread: number) => {
    if (bytes === 'here') threads.add(thread);
    else answered.resolve(bytes);
  });
} else {
  process.on('workerMessage', () => void postMessageToThread(MAIN_THREAD, collect()));
  await postMessageToThread(MAIN_THREAD, 'here');
}
