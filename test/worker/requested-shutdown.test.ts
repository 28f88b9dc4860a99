import { Runtime, type Worker } from '@temporalio/worker';
import { afterEach, expect, test, vi } from 'vitest';
import { resource } from '../../src/define/resources.ts';
import { LonghaulPlugin, type LonghaulPluginOptions } from '../../worker/index.ts';
import { requestShutdown } from '../../worker/requested-shutdown.ts';

const TASK = 'took a task';

/** The states of a Temporal Worker, which accepts a shutdown only while it polls and ends at once. */
function fakeWorker(): { worker: Worker; next: () => Promise<void>; states: string[] } {
  const states: string[] = ['INITIALIZED'];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const fake = {
    options: { namespace: 'default' },
    getState: () => states.findLast((state) => state !== TASK),
    shutdown: () => {
      if (fake.getState() !== 'RUNNING') throw new Error(`Not running. Current state: ${fake.getState()}`);
      states.push('DRAINING');
      end();
    },
  };
  const next = (): Promise<void> => {
    states.push('RUNNING');
    // The pollers begin after the current turn of the event loop.
    setImmediate(() => {
      if (fake.getState() === 'RUNNING') states.push(TASK);
    });
    return ended;
  };
  return { worker: fake as unknown as Worker, next, states };
}

const pending = (): Promise<never> => new Promise(() => undefined);

/** Workers by what they wait for before they poll. */
const WORKERS: Record<string, () => LonghaulPlugin> = {
  plain: () => pluginWith({}),
  encrypting: () => pluginWith({ codec: { encryption: { activeKeyId: 'k1', keys: pending } } }),
  versioned: () => {
    const plugin = pluginWith({ versioning: { deploymentName: 'd', buildId: '1', behavior: 'UPGRADE_ON_CONTINUE_AS_NEW' } });
    const connection = { workflowService: { getSystemInfo: pending } };
    Object.assign(plugin, { configured: plugin.configureWorker({ taskQueue: 't', connection: connection as never }) });
    return plugin;
  },
  'opening a resource': () => pluginWith({ resources: { db: resource({ open: pending }) } }),
};

function pluginWith(options: object): LonghaulPlugin {
  return new LonghaulPlugin({ agents: [], providers: {}, ...options } satisfies LonghaulPluginOptions);
}

/** The moments at which a shutdown is requested, and the ways to do it. */
const REQUESTS: Record<string, (worker: Worker, run: () => Promise<void>) => Promise<void>> = {
  'before it is run': async (worker, run) => {
    requestShutdown(worker);
    return run();
  },
  'right after it is run': async (worker, run) => {
    const running = run();
    requestShutdown(worker);
    return running;
  },
  'right after it is run, by its own shutdown': async (worker, run) => {
    const running = run();
    worker.shutdown();
    return running;
  },
  'while it starts, twice': async (worker, run) => {
    const running = run();
    await Promise.resolve();
    requestShutdown(worker);
    requestShutdown(worker);
    return running;
  },
  'while it starts, by a signal': async (_worker, run) => {
    const callbacks = vi.spyOn(Runtime.instance(), 'registerShutdownSignalCallback');
    const running = run();
    const callback = callbacks.mock.calls[0]?.[0];
    await Promise.resolve();
    callback?.();
    return running;
  },
};

afterEach(() => {
  vi.restoreAllMocks();
});

for (const [kind, create] of Object.entries(WORKERS)) {
  test.each(Object.entries(REQUESTS))(`a worker that is ${kind} ends without a task if it is shut down %s`, async (_moment, request) => {
    const plugin = create();
    const { worker, next, states } = fakeWorker();
    await request(worker, () => plugin.runWorker(worker, next));
    await new Promise((resolve) => setImmediate(resolve));
    expect(states).toEqual(['INITIALIZED', 'RUNNING', 'DRAINING']);
  });
}

test('a worker whose other plugins keep it from polling is shut down once it polls', async () => {
  const { worker, next, states } = fakeWorker();
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>();
  const running = pluginWith({}).runWorker(worker, async () => {
    await allowed;
    await next();
  });
  await new Promise((resolve) => setImmediate(resolve));
  requestShutdown(worker);
  expect(states).toEqual(['INITIALIZED']);
  allow();
  await running;
  expect(states).toContain('DRAINING');
});

test('resources that would be opened after the end are not opened', async () => {
  const { promise: key, resolve: found } = Promise.withResolvers<Uint8Array>();
  const open = vi.fn<() => Promise<string>>(async () => 'db');
  const plugin = pluginWith({
    codec: { encryption: { activeKeyId: 'k1', keys: () => key } },
    resources: { db: resource({ open }) },
  });
  const { worker, next } = fakeWorker();
  const running = plugin.runWorker(worker, next);
  requestShutdown(worker);
  await running;
  found(new Uint8Array(32));
  await new Promise((resolve) => setImmediate(resolve));
  expect(open).not.toHaveBeenCalled();
});

test('a check that fails after the shutdown was requested is not an error of the worker', async () => {
  const { promise: key, reject: lose } = Promise.withResolvers<Uint8Array>();
  const plugin = pluginWith({ codec: { encryption: { activeKeyId: 'k1', keys: () => key } } });
  const { worker, next } = fakeWorker();
  const running = plugin.runWorker(worker, next);
  requestShutdown(worker);
  lose(new Error('the key server is down'));
  await expect(running).resolves.toBeUndefined();
});
