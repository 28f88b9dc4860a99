import { BroadcastChannel, isMainThread } from 'node:worker_threads';

/**
 * Loaded before everything else into a process and its threads (`--import`, with `--expose-gc`), so that the heap of the
 * workflow thread can be collected before its memory is read: there is no other access to that thread.
 */

/** The sizes in bytes of the two heaps of a worker's process. */
export interface CollectedHeaps {
  main: number;
  /** The heap of the workflow thread. */
  workflows: number;
}

const REQUESTS = 'bench-collect';
const ANSWERS = 'bench-collected';

/**
 * Collects the heaps of the main thread and the workflow thread. Must be called in the main thread, once at a time, while there is one
 * workflow thread.
 */
export async function collectHeaps(): Promise<CollectedHeaps> {
  const requests = new BroadcastChannel(REQUESTS);
  const answers = new BroadcastChannel(ANSWERS);
  const answered = Promise.withResolvers<number>();
  answers.addEventListener('message', (event) => answered.resolve(Number(Reflect.get(event, 'data'))));
  try {
    tell(requests, 'collect');
    const main = collect();
    return { main, workflows: await answered.promise };
  } finally {
    requests.close();
    answers.close();
  }
}

function collect(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function tell(channel: BroadcastChannel, message: string | number): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel between threads has no origin
  channel.postMessage(message);
}

if (!isMainThread) {
  const answers = new BroadcastChannel(ANSWERS);
  const requests = new BroadcastChannel(REQUESTS);
  requests.addEventListener('message', () => tell(answers, collect()));
  requests.unref();
  answers.unref();
}

/** Bounds the young generation, which V8 otherwise enlarges at will, by up to 100 MB, and keeps so. */
export const BOUNDED_YOUNG_GENERATION = '--max-semi-space-size=16';

/**
 * The flags of a process whose memory is measured. Its heaps can be collected before a reading, and the young generation has a fixed size:
 * so the other memory is visible.
 */
export const MEASURED_MEMORY: readonly string[] = [
  '--expose-gc',
  '--min-semi-space-size=16',
  BOUNDED_YOUNG_GENERATION,
  '--import',
  new URL('./measured-memory.ts', import.meta.url).href,
];
