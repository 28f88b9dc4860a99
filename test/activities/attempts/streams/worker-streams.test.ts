import { expect, test } from 'vitest';
import { WorkerStreams } from '../../../../activities/streams/worker-streams.ts';
import type { StreamEntry } from '../../../../src/core/domain/stream.ts';
import type { StreamSink } from '../../../../src/streams/stream-sink.ts';
import { fakeSink, PLAIN } from '../../../fakes/fake-sink.ts';

const ENTRY: StreamEntry = { type: 'recorded', executionId: 'execution-1', events: 1, steps: 0, status: 'running' };

test('the sink is open while a worker runs, with its namespace and converter', async () => {
  const sink = fakeSink();
  const streams = new WorkerStreams(sink, () => undefined);
  streams.publish('run-1', ENTRY);
  expect(sink.opened).toEqual([]);
  streams.open('default', PLAIN);
  streams.open('default', PLAIN);
  expect(sink.opened).toMatchObject([{ namespace: 'default', dataConverter: PLAIN }]);
  await streams.close();
  streams.publish('run-1', ENTRY);
  expect(sink.closed).toBe(0);
  await streams.close();
  expect(sink.closed).toBe(1);
  streams.publish('run-1', ENTRY);
  expect(sink.entries('run-1')).toEqual([ENTRY]);
  streams.open('default', PLAIN);
  expect(sink.opened).toHaveLength(2);
});

test('a sink that throws is reported once, and fails nothing', async () => {
  const lines: string[] = [];
  const fail = (): never => {
    throw new Error('boom');
  };
  const failing = fakeSink({ publish: fail });
  const streams = new WorkerStreams({ ...failing, open: (context) => ({ ...failing.open(context), close: fail }) }, (line) =>
    lines.push(line),
  );
  streams.open('default', PLAIN);
  streams.publish('run-1', ENTRY);
  streams.publish('run-1', ENTRY);
  await streams.close();
  expect(lines).toEqual([
    'The sink "fake" of streams throws, and readers miss what it should carry: boom',
    'The sink "fake" of streams did not close: boom',
  ]);
});

test('a sink that cannot be opened leaves nothing open', async () => {
  const sink: StreamSink = { ...fakeSink(), open: () => expect.fail('no address') };
  const streams = new WorkerStreams(sink, () => undefined);
  expect(() => streams.open('default', PLAIN)).toThrow('no address');
  await streams.close();
});

test.each([[{}], ['redis'], [null], [{ name: '', open: () => undefined }], [{ name: 'mine' }]])('%j is no sink', (value) => {
  const make = (): WorkerStreams => new WorkerStreams(value as StreamSink, () => undefined);
  expect(make).toThrow('the worker: "streams" is not a sink: write memoryStreams(), redisStreams({url}) or heartbeatStreams()');
});
