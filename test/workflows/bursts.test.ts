import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { ModelCall, ModelCallOutcome } from '../../src/core/kernel/ports.ts';
import type { ResolvedRun } from '../../workflows/run/live-run.ts';
import { quietPorts } from '../core/loop/fakes/fake-ports.ts';
import { testSnapshot } from '../core/loop/fakes/snapshot.ts';

/** The activities that were scheduled, by name, and whether the run was cancelled. */
const sandbox = { scheduled: [] as string[], isCancelled: false };

/** The package of workflows, as far as a burst needs it. */
async function outsideOfSandbox(importOriginal: () => Promise<object>): Promise<object> {
  const scope = { run: (act: () => unknown) => act(), consideredCancelled: false, cancelRequested: new Promise(() => undefined) };
  const outer = {
    ...scope,
    get consideredCancelled() {
      return sandbox.isCancelled;
    },
  };
  const Scope = Object.assign(
    function scopeOf() {
      return scope;
    },
    { current: () => outer, nonCancellable: (act: () => unknown) => act() },
  );
  const activities = new Proxy(
    {},
    {
      get: (_, name) => () => {
        sandbox.scheduled.push(String(name));
        return new Promise(() => undefined);
      },
    },
  );
  return {
    ...(await importOriginal()),
    CancellationScope: Scope,
    proxyActivities: () => activities,
    proxySinks: () => ({ longhaul: new Proxy({}, { get: () => () => undefined }) }),
    uuid4: () => '00000000-0000-4000-8000-000000000001',
  };
}

/** Loads the tested modules, and the modules that they share, with that package. */
async function load() {
  const [{ workflowBursts }, { burstPorts }, { Inbox }, { newRunState }] = await Promise.all([
    import('../../workflows/run/bursts.ts'),
    import('../../src/core/bursts/burst-ports.ts'),
    import('../../src/core/kernel/inbox.ts'),
    import('../../src/core/kernel/run-state.ts'),
    import('../../src/core/capabilities.ts'),
  ]);
  return { workflowBursts, burstPorts, Inbox, newRunState };
}

let loaded: Awaited<ReturnType<typeof load>>;

// Other files of this process have loaded the unmocked package, and later files need it unmocked.
beforeAll(async () => {
  vi.resetModules();
  vi.doMock('@temporalio/workflow', outsideOfSandbox);
  loaded = await load();
});
afterAll(() => {
  vi.doUnmock('@temporalio/workflow');
  vi.resetModules();
});

beforeEach(() => Object.assign(sandbox, { scheduled: [], isCancelled: false }));

/** Makes the first model call of a run whose agent makes bursts, and returns its outcome if it has one. */
async function firstCall(): Promise<{ outcome: ModelCallOutcome | undefined; asked: number }> {
  const { workflowBursts, burstPorts, Inbox, newRunState } = loaded;
  const snapshot = testSnapshot({ burst: { steps: 16, bytes: 32_000, seconds: 2 } });
  const state = newRunState({ runId: 'r', snapshot, startedAt: 0, input: 'Q' }, { now: () => 0, uuid: () => 'event' });
  const run: ResolvedRun = {
    runId: 'r',
    agentName: 'a',
    deps: {},
    startedAt: 0,
    executions: 1,
    inbox: new Inbox(),
    activitiesEnded: 0,
    recentUpdates: 0,
    ending: false,
    answering: 0,
    telling: 0,
    authorizing: new Map(),
    missing: [],
    snapshot,
    state,
  };
  let asked = 0;
  const plain = {
    ...quietPorts(),
    now: () => 0,
    uuid: () => 'another event',
    runTool: () => Promise.resolve({ type: 'cancelled' as const }),
    callModel: (_: ModelCall) => {
      asked += 1;
      return Promise.resolve({ type: 'cancelled' as const });
    },
  };
  const { ports } = burstPorts(
    plain,
    workflowBursts(run, () => sandbox.isCancelled),
  );
  const call: ModelCall = { through: 1, lastEventId: 'event', step: 1, newEvents: 1, final: false };
  const outcome = await Promise.race([ports.callModel(call), new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))]);
  return { outcome, asked };
}

test('a run schedules a burst for its first model call', async () => {
  expect(await firstCall()).toEqual({ outcome: undefined, asked: 0 });
  expect(sandbox.scheduled).toEqual(['runBurst']);
});

test('a run that is cancelled begins no burst, which nothing would cancel: the call ends at once, as without bursts', async () => {
  sandbox.isCancelled = true;
  expect(await firstCall()).toEqual({ outcome: { type: 'cancelled' }, asked: 1 });
  expect(sandbox.scheduled).toEqual([]);
});
