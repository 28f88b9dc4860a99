import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ServerSentEvent, serverSentEvents } from '../../../activities/models/openai/exchange.ts';

async function read(...pieces: string[]): Promise<ServerSentEvent[]> {
  const source = async function* (): AsyncGenerator<string> {
    yield* pieces;
  };
  const events: ServerSentEvent[] = [];
  for await (const event of serverSentEvents(source())) events.push(event);
  return events;
}

test('data lines of one event are joined, and other fields and comments are skipped', async () => {
  expect(await read('\uFEFFdata: a\ndata:b\nevent: x\n: comment\nid: 3\ndatax: no\n\n\n\ndata\n\n')).toEqual([
    { data: 'a\nb', complete: true },
    { data: '', complete: true },
  ]);
});

test('an unfinished event at the end is marked, because it may be cut', async () => {
  expect(await read('data: a\n\ndata: b')).toEqual([
    { data: 'a', complete: true },
    { data: 'b', complete: false },
  ]);
  expect(await read('data: b\n')).toEqual([{ data: 'b', complete: false }]);
});

test('the events are the same for every way to split the stream and every kind of line break', async () => {
  const line = fc.constantFrom('data: a', 'data: b c', ': note', '', '');
  const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(stream, fc.array(fc.nat(80), { maxLength: 8 }), async (lines, cuts) => {
      const text = lines.map(([content, end]) => content + end).join('');
      const places = [...new Set([0, ...cuts.filter((cut) => cut < text.length)])].toSorted((a, b) => a - b);
      const pieces = places.map((place, index) => text.slice(place, places[index + 1]));
      expect(pieces.join('')).toBe(text);
      expect(await read(...pieces)).toEqual(await read(text));
    }),
  );
});
