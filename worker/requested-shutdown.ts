import { Runtime, type Worker } from '@temporalio/worker';

/**
 * The requested shutdowns. A Temporal Worker accepts one only while it polls, and one that is requested earlier, before
 * it is run or while Longhaul checks its parts, would be lost.
 */
const REQUESTS = new WeakMap<Worker, AbortController>();

/** Milliseconds between two looks at a worker whose other plugins keep it from polling. */
const LOOK_EVERY_MS = 20;

/** Shuts a worker down: now if it polls, and otherwise as soon as it would. Idempotent. */
export function requestShutdown(worker: Worker): void {
  requestOf(worker).abort();
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** The start of a worker. */
interface Start {
  /** Resolves when the worker may poll. Its outcome no longer matters once the signal is aborted. */
  prepare: (signal: AbortSignal) => Promise<void>;
  /** Makes the worker poll, and resolves when it has ended. */
  run: () => Promise<void>;
}

/**
 * Runs a worker once it is prepared. If a shutdown is requested before it polls, by `requestShutdown`, by its own `shutdown` or by a signal,
 * no longer waits for the preparation, and shuts the worker down in the moment in which it would poll: it makes no call. A workflow task
 * that the server hands out in that very moment is completed, or left to another worker.
 */
export async function runUnlessShutDown(worker: Worker, { prepare, run }: Start): Promise<void> {
  const unlisten = acceptEarlyShutdown(worker);
  try {
    const { signal } = requestOf(worker);
    if (!signal.aborted) await Promise.race([prepare(signal), aborted(signal)]);
    // A worker that has been created cannot be discarded without being run.
    const running = run();
    const stopLooking = shutDownOncePolling(worker, signal);
    try {
      await running;
    } finally {
      stopLooking();
    }
  } finally {
    unlisten();
  }
}

function requestOf(worker: Worker): AbortController {
  const request = REQUESTS.get(worker) ?? new AbortController();
  REQUESTS.set(worker, request);
  return request;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/**
 * Makes the worker's `shutdown`, which would throw until it polls, and the signals of the Runtime request one. Returns the function that
 * ends this.
 */
function acceptEarlyShutdown(worker: Worker): () => void {
  const request = (): void => requestShutdown(worker);
  const runtime = Runtime.instance();
  // Called at once if a signal has come before.
  runtime.registerShutdownSignalCallback(request);
  const shutdown = worker.shutdown.bind(worker);
  worker.shutdown = () => (worker.getState() === 'INITIALIZED' ? requestOf(worker).abort() : shutdown());
  return () => {
    runtime.deregisterShutdownSignalCallback(request);
    worker.shutdown = shutdown;
  };
}

/** Looks after a worker that is starting. Returns the function that ends this. */
function shutDownOncePolling(worker: Worker, signal: AbortSignal): () => void {
  const look = (): void => {
    if (worker.getState() === 'INITIALIZED') return;
    clearInterval(timer);
    if (signal.aborted) requestShutdown(worker);
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  look();
  return () => clearInterval(timer);
}
