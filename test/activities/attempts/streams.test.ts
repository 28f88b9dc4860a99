import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { CallStream } from '../../../activities/streams/activity-streams.ts';
import type { ModelDelta, StreamEntry } from '../../../src/core/domain/stream.ts';
import { fakeSink, folded, PLAIN } from '../../fakes/fake-sink.ts';
import { WorkerStreams } from '../../../activities/streams/worker-streams.ts';
import type { StreamSink } from '../../../src/streams/stream-sink.ts';
import { checkedDelta } from '../../../activities/model-calls/ask-model.ts';

const OF = { executionId: 'execution-1', eventId: 'e1', through: 1, activity: 1, attempt: 1 };

/** A stream, and its published entries. */
function streaming(): { stream: CallStream; entries: StreamEntry[] } {
  const entries: StreamEntry[] = [];
  return { stream: new CallStream(OF, (entry) => entries.push(structuredClone(entry))), entries };
}

const text = (piece: string): ModelDelta => ({ type: 'text', text: piece });

test('the first piece is published at once, and those that follow within milliseconds together', () => {
  vi.useFakeTimers();
  try {
    const { stream, entries } = streaming();
    stream.begin();
    for (const piece of ['The ', 'Moon ', 'is ']) stream.add(text(piece));
    expect(entries).toEqual([
      { type: 'attempt', of: OF },
      { type: 'delta', of: OF, index: 0, delta: text('The ') },
    ]);
    vi.advanceTimersByTime(5);
    expect(entries.slice(2)).toEqual([{ type: 'delta', of: OF, index: 1, delta: text('Moon is ') }]);
    // Nothing was published for a while.
    vi.advanceTimersByTime(20);
    stream.add(text('far.'));
    expect(entries.slice(3)).toEqual([{ type: 'delta', of: OF, index: 2, delta: text('far.') }]);
    stream.end();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('the end publishes what is waiting, and pieces after it are ignored', () => {
  const { stream, entries } = streaming();
  stream.add(text('a'));
  stream.add(text('b'));
  stream.end();
  stream.add(text('c'));
  stream.end();
  expect(folded(entries)).toEqual({ e1: [text('ab')] });
});

test('pieces of a call without an id or a name reach no reader', () => {
  const { stream, entries } = streaming();
  stream.add({ type: 'tool_input', callId: '', toolName: 'f', text: '{}' });
  stream.add({ type: 'tool_input', callId: 'c1', toolName: '', text: '{}' });
  stream.end();
  expect(entries).toEqual([]);
});

test('a piece of an absurd length is left out, and readers notice from the numbers', () => {
  const { stream, entries } = streaming();
  for (const piece of ['a', 'x'.repeat(600_000), 'b']) stream.add(text(piece));
  stream.end();
  expect(entries.map((entry) => entry.type === 'delta' && [entry.index, entry.delta])).toEqual([
    [0, text('a')],
    [2, text('b')],
  ]);
});

const pieces: fc.Arbitrary<ModelDelta> = fc.oneof(
  fc.record({ type: fc.constantFrom('text', 'reasoning'), text: fc.string({ unit: 'binary', minLength: 1, maxLength: 20_000 }) }),
  fc.record({
    type: fc.constant('tool_input'),
    callId: fc.constantFrom('c1', 'c2'),
    toolName: fc.constantFrom('f', 'g'),
    text: fc.string({ unit: 'binary', maxLength: 6_000 }),
  }),
);

test('readers get every character in order, in numbered entries below 32 kB', () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (given) => {
      const { stream, entries } = streaming();
      for (const piece of given) stream.add(piece);
      stream.end();
      const whole = given.map((delta, index): StreamEntry => ({ type: 'delta', of: OF, index, delta }));
      expect(folded(entries)).toEqual(folded(whole));
      expect(entries.map((entry) => entry.type === 'delta' && entry.index)).toEqual(entries.map((_, index) => index));
      for (const entry of entries) expect(Buffer.byteLength(JSON.stringify(entry))).toBeLessThan(32_000);
    }),
    { numRuns: 100 },
  );
});

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
    'The sink "fake" of streams throws, so readers miss its output: boom',
    'The sink "fake" of streams did not close: boom',
  ]);
});

test('a sink that cannot be opened leaves nothing open', async () => {
  const sink: StreamSink = { ...fakeSink(), open: () => expect.fail('no address') };
  const streams = new WorkerStreams(sink, () => undefined);
  expect(() => streams.open('default', PLAIN)).toThrow('no address');
  await streams.close();
});

test.each([[{}], ['redis'], [null], [{ name: '', open: () => undefined }], [{ name: 'mine' }]])('%j is not a sink', (value) => {
  const make = (): WorkerStreams => new WorkerStreams(value as StreamSink, () => undefined);
  expect(make).toThrow('the worker: "streams" is not a sink: write memoryStreams(), redisStreams({url}) or heartbeatStreams()');
});

test('a piece of an answer is passed on without anything else', () => {
  expect(checkedDelta({ type: 'text', text: 'A', more: 1 })).toEqual({ type: 'text', text: 'A' });
  expect(checkedDelta({ type: 'reasoning', text: 'hm' })).toEqual({ type: 'reasoning', text: 'hm' });
  const call = { type: 'tool_input', callId: 'c1', toolName: 'f', text: '' };
  expect(checkedDelta({ ...call, more: 1 })).toEqual(call);
});

test('ids and names have the length that they are recorded with', () => {
  const long = checkedDelta({ type: 'tool_input', callId: 'c'.repeat(1e6), toolName: 'f'.repeat(1e6), text: '' });
  expect(long).toEqual({ type: 'tool_input', callId: 'c'.repeat(64), toolName: 'f'.repeat(128), text: '' });
  expect(checkedDelta({ type: 'tool_input', callId: 7, text: '{' })).toEqual({ type: 'tool_input', callId: '', toolName: '', text: '{' });
});

test('an empty text, another type and a getter that throws are ignored', () => {
  const throwing = {
    get type(): string {
      throw new Error('boom');
    },
  };
  for (const given of [{ type: 'text', text: '' }, { type: 'data', text: 'x' }, { type: 'text' }, 'text', null, throwing])
    expect(checkedDelta(given)).toBeUndefined();
});

test('any value is a piece of an answer or ignored', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (given) => {
      const delta = checkedDelta(given);
      expect(delta === undefined || typeof delta.text === 'string').toBe(true);
    }),
  );
});
