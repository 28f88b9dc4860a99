import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { CallStream } from '../../../../activities/streams/activity-streams.ts';
import type { ModelDelta, StreamEntry } from '../../../../src/core/domain/stream.ts';
import { folded } from '../../../fakes/fake-sink.ts';

const OF = { executionId: 'execution-1', eventId: 'e1', through: 1, activity: 1, attempt: 1 };

/** A stream, and what it publishes. */
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

test('a piece of an absurd length is left out, and readers learn it from the numbers', () => {
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
