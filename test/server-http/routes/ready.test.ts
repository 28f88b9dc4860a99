import { afterEach, expect, test, vi } from 'vitest';
import { LonghaulClient } from '../../../src/client/index.ts';
import type { StreamSink } from '../../../src/streams/stream-sink.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer, clientWithRun } from '../requests.ts';

afterEach(() => void vi.useRealTimers());

type Part = () => Promise<unknown>;

const fine: Part = async () => ({});
const silent: Part = () => new Promise(() => undefined);
const refused: Part = async () => {
  throw new Error('connect ECONNREFUSED redis://user:hunter2@10.0.0.1');
};

/** A connection to a Temporal server that answers queries for a namespace that way, and the requested namespaces. */
function temporalOf(describeNamespace: Part): { temporal: object; asked: unknown[] } {
  const asked: unknown[] = [];
  const temporal = {
    options: { namespace: 'acme', loadedDataConverter: {} },
    withDeadline: (_deadline: number, work: Part) => work(),
    workflowService: {
      describeNamespace: (request: unknown) => {
        asked.push(request);
        return describeNamespace();
      },
    },
  };
  return { temporal, asked };
}

/** Asks a service for its readiness, without credentials. */
async function readiness({
  temporal = fine,
  streams = fine,
  checks = () => ({}),
}: {
  temporal?: Part;
  streams?: Part;
  checks?: (client: LonghaulClient) => Record<string, () => Promise<void>>;
}): Promise<[status: number, body: object]> {
  const client = clientWithRun({}, { temporal: temporalOf(temporal).temporal, checkStreams: streams });
  const handler = await checkedHandler(client, { authenticate: () => undefined, checks: checks(client) });
  const { status, body } = await answer<object>(handler, 'GET', '/readyz');
  return [status, body];
}

test('a service is ready if the Temporal server and the sink of streams answer', async () => {
  expect(await readiness({})).toEqual([200, { status: 'ready', checks: { temporal: 'ok', streams: 'ok' } }]);
});

test('a service whose Temporal server cannot be reached is not ready, and reveals no cause', async () => {
  expect(await readiness({ temporal: refused })).toEqual([503, { status: 'not_ready', checks: { temporal: 'failed', streams: 'ok' } }]);
});

test('a service whose sink of streams does not work is ready, says so, and reveals no cause', async () => {
  expect(await readiness({ streams: refused })).toEqual([200, { status: 'ready', checks: { temporal: 'ok', streams: 'degraded' } }]);
});

test('a service that needs live output requires the sink by a check of its own with that name', async () => {
  const found = await readiness({ streams: refused, checks: (client) => ({ streams: () => client.checkStreams() }) });
  expect(found).toEqual([503, { status: 'not_ready', checks: { temporal: 'ok', streams: 'failed' } }]);
});

test.each([
  ['temporal', 503, 'failed'],
  ['streams', 200, 'degraded'],
])('the part "%s" has 2 seconds to answer', async (part, status, state) => {
  vi.useFakeTimers();
  const answered = vi.fn<(found: [number, object]) => void>();
  const asked = readiness({ [part]: silent }).then(answered);
  await vi.advanceTimersByTimeAsync(1_900);
  expect(answered).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(200);
  await asked;
  expect(answered.mock.calls).toMatchObject([[[status, { checks: { [part]: state } }]]]);
});

/** A service on a client with a sink of streams, and the namespaces requested from its Temporal server. */
async function withSink(health: () => Promise<void>): Promise<{ ask: () => Promise<{ status: number; body: object }>; asked: unknown[] }> {
  const { temporal, asked } = temporalOf(fine);
  const sink = { name: 'fake', open: () => ({ health }) };
  const client = new LonghaulClient(temporal as LonghaulClient['temporal'], { streams: sink as object as StreamSink });
  const handler = await checkedHandler(client);
  return { asked, ask: () => answer<object>(handler, 'GET', '/readyz') };
}

test('a client is asked for its own namespace, and for the health of its sink', async () => {
  const health = vi.fn<() => Promise<void>>().mockResolvedValue(undefined);
  const { ask, asked } = await withSink(health);
  expect(await ask()).toMatchObject({ status: 200 });
  expect(asked).toEqual([{ namespace: 'acme' }]);
  expect(health).toHaveBeenCalledOnce();
  const broken = await withSink(() => Promise.reject(new Error('the sink is down')));
  expect(await broken.ask()).toMatchObject({ status: 200, body: { checks: { temporal: 'ok', streams: 'degraded' } } });
});

test('anyone may ask as often as they like: the parts are checked again after half a second', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const health = vi.fn<() => Promise<void>>().mockResolvedValue(undefined);
  const { ask, asked } = await withSink(health);
  await Promise.all(Array.from({ length: 20 }, ask));
  health.mockRejectedValue(new Error('the sink is down'));
  vi.advanceTimersByTime(400);
  expect(await ask()).toMatchObject({ body: { checks: { streams: 'ok' } } });
  expect([asked.length, health.mock.calls.length]).toEqual([1, 1]);
  vi.advanceTimersByTime(200);
  expect(await ask()).toMatchObject({ body: { checks: { streams: 'degraded' } } });
  expect([asked.length, health.mock.calls.length]).toEqual([2, 2]);
});
