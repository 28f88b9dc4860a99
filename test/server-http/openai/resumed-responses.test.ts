import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';
import type { WireEvent } from '../../../src/server/protocols/openai/response-body.ts';
import { isSameWholeText, placeOf, sequenceOf } from '../../../src/server/protocols/openai/response-text.ts';
import { act, acts } from '../../client/stream/acted-run.ts';
import { FakeRun } from '../../client/stream/fake-run.ts';
import { feedsOf } from '../../client/stream/read-stream.ts';
import { built, eventsOf } from './followed.ts';
import { generatedRun, shownLater } from './generated-run.ts';
import { openaiFor, served, ToldRun } from './served-run.ts';
import { propertyRuns } from '../../property-runs.ts';

const isRecord = ({ type }: StreamItem): boolean => type === 'event' || type === 'step' || type === 'end';

/** The response that ends a stream. */
function finalOf(events: readonly WireEvent[]): Extract<WireEvent, { response: unknown }>['response'] {
  const last = events.at(-1);
  if (last === undefined || !('response' in last)) throw new Error('The stream has no end');
  return last.response;
}

/** The items of the output, with the words of each. */
function outputOf(events: readonly WireEvent[]): [string, string][] {
  return finalOf(events).output.map((item) => [
    item.id ?? '',
    item.type === 'message'
      ? item.content.map((part) => ('text' in part ? part.text : part.refusal)).join('')
      : 'arguments' in item
        ? String(item.arguments)
        : '',
  ]);
}

/** Lists the problems of a client that has got these events: it must have the whole output of the record, each item once. */
function problems(events: readonly WireEvent[], recorded: readonly WireEvent[], unfinished: ReadonlySet<string> = new Set()): string[] {
  const items = built(events);
  const output = outputOf(events);
  const wrong = output.filter(([id, text]) => {
    // Text that was rewritten before it was recorded has taken the id of the message.
    const item = items.get(`${id}_2`) ?? items.get(id);
    return item?.text !== text || !item.isDone;
  });
  const isSame = finalOf(events).status === finalOf(recorded).status && JSON.stringify(output) === JSON.stringify(outputOf(recorded));
  // Only reasoning is whole and no part of the output.
  const whole = [...items.values()].filter(({ type, status }) => type !== 'reasoning' && (status === 'completed' || status === 'failed'));
  const twice = whole.filter(({ id }) => whole.some((other) => other.id === `${id}_2`));
  const extra = whole.filter(({ id }) => !output.some(([one]) => one === id.replace(/_2$/, '')));
  const open = [...items.values()].filter(({ id, isDone }) => !isDone && !unfinished.has(id));
  return [
    ...wrong.map(([id]) => `${id} is not whole`),
    ...(isSame ? [] : ['the output does not match the record']),
    ...twice.map(({ id }) => `${id} comes twice`),
    ...extra.map(({ id }) => `${id} is no part of the output`),
    ...open.map(({ id }) => `${id} has no end`),
  ];
}

/** True if another item happens to have the tag of the last event: one of eight thousand has. */
function hasTwin(whole: readonly WireEvent[], got: readonly WireEvent[], last: number): boolean {
  const place = placeOf(last);
  const event = got.at(-1);
  if (place === undefined || event === undefined) return false;
  const own = 'item_id' in event ? event.item_id : 'item' in event ? event.item.id : undefined;
  return [...built(whole).values()].some(({ id, text }) => {
    const [, prefix, eventId = ''] = /^(msg|rs)_(.*?)(?:_2)?$/.exec(id) ?? [];
    const words = { kind: prefix === 'msg' ? 'message' : 'reasoning', eventId, text } as const;
    return prefix !== undefined && id !== own && isSameWholeText(words, place);
  });
}

test('a stream has the output of the record, whatever was streamed before it', () => {
  fc.assert(
    fc.property(generatedRun, fc.boolean(), (run, isGuarded) => {
      const { items } = isGuarded ? run.guarded() : run;
      expect(problems(eventsOf(items), eventsOf(items.filter(isRecord)))).toEqual([]);
    }),
    { numRuns: propertyRuns(500) },
  );
});

test('without provisional items, numbers follow from the record alone, however the text was cut into pieces', () => {
  fc.assert(
    fc.property(generatedRun, ({ items }) => {
      const steady = items.filter((item) => isRecord(item) || (item.type === 'delta' && item.delta.type === 'text'));
      const live = eventsOf(steady);
      const recorded = eventsOf(items.filter(isRecord));
      fc.pre(
        !live.some((event) => event.type === 'response.output_item.done' && 'status' in event.item && event.item.status === 'incomplete'),
      );
      const withoutText = (events: readonly WireEvent[]): WireEvent[] => events.filter(({ type }) => !type.endsWith('.delta'));
      expect(withoutText(live)).toEqual(withoutText(recorded));
    }),
    { numRuns: propertyRuns(100) },
  );
});

test('a reader that returns to another process, after any event, gets the rest: nothing twice, nothing missing', () => {
  fc.assert(
    fc.property(generatedRun, fc.nat(), fc.oneof(fc.nat({ max: 60 }), fc.constant(Infinity)), ({ items }, cut, keptFrom) => {
      const whole = eventsOf(items);
      const got = whole.slice(0, 1 + (cut % whole.length));
      const last = got.at(-1)?.sequence_number ?? 0;
      fc.pre(!hasTwin(whole, got, last));
      const rest = eventsOf(shownLater(items, keptFrom), last);
      // An item that was discarded while the reader was away keeps no end if nothing knows its id.
      const begun = new Set([...built(got).values()].filter(({ isDone }) => !isDone).map(({ id }) => id));
      expect(problems([...got, ...rest], eventsOf(items.filter(isRecord)), begun)).toEqual([]);
    }),
    { numRuns: propertyRuns(3_000) },
  );
});

test('a reader that comes back to a process whose sink has lost nothing gets the same events as a reader that was not away', () => {
  fc.assert(
    fc.property(generatedRun, fc.nat(), ({ items }, cut) => {
      const whole = eventsOf(items);
      const got = whole.slice(0, 1 + (cut % whole.length));
      const last = got.at(-1)?.sequence_number ?? 0;
      fc.pre(!hasTwin(whole, got, last));
      expect(eventsOf(items, last)).toEqual(whole.slice(got.length));
    }),
    { numRuns: propertyRuns(2_000) },
  );
});

test('a reader that was cut off in the middle of a text gets exactly the rest of it, once the text is recorded', async () => {
  const run = new ToldRun().delta('e1', 'It ').delta('e1', 'is ').answer('e1', 'It is four.').end('It is four.');
  const openai = openaiFor(served(run).handler);
  const stream = await openai.responses.create({ model: 'clerk', input: 'Q', stream: true });
  const got = await Array.fromAsync(stream);
  const cut = got.findIndex((event) => event.type === 'response.output_text.delta' && event.delta === 'is ');
  const recorded = new ToldRun().answer('e1', 'It is four.').end('It is four.');
  const later = openaiFor(served(recorded).handler);
  const rest = await Array.fromAsync(
    await later.responses.retrieve('run-1', { stream: true, starting_after: got[cut]?.sequence_number ?? 0 }),
  );
  expect(rest.map((event) => ('delta' in event ? [event.type, event.delta] : event.type))).toEqual([
    ['response.output_text.delta', 'four.'],
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  expect(rest.map(({ sequence_number: number }) => number)).toEqual(got.slice(cut + 1).map(({ sequence_number: number }) => number));
});

test('a text that is too long to be numbered waits for its event from there on', () => {
  const text = 'x'.repeat(70_000);
  const run = new ToldRun().delta('e1', text.slice(0, 69_000)).answer('e1', text).end(text);
  const events = eventsOf(run.items);
  const recorded = eventsOf(run.items.filter(isRecord));
  expect(problems(events, recorded)).toEqual([]);
  for (const { sequence_number: number } of events.slice(0, -1)) {
    const got = events.filter((event) => event.sequence_number <= number);
    expect(problems([...got, ...eventsOf(run.items.filter(isRecord), number)], recorded)).toEqual([]);
  }
});

test('readers of a real stream, at any time and with any cuts, come to the output of the record', async () => {
  await fc.assert(
    fc.asyncProperty(acts, fc.nat({ max: 40 }), fc.nat({ max: 40 }), async (all, joinedAt, cut) => {
      const run = new FakeRun();
      const pause = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      const acting = act(run, all, pause);
      for (let count = 0; count < joinedAt; count += 1) await pause();
      const items = await Array.fromAsync(feedsOf(run).stream());
      await acting;
      const whole = eventsOf(items);
      const later = await Array.fromAsync(feedsOf(run).stream());
      const recorded = eventsOf(later.filter(isRecord));
      expect(problems(whole, recorded)).toEqual([]);
      const got = whole.slice(0, 1 + (cut % whole.length));
      const begun = new Set([...built(got).values()].filter(({ isDone }) => !isDone).map(({ id }) => id));
      const rest = eventsOf(later, got.at(-1)?.sequence_number);
      expect(problems([...got, ...rest], recorded, begun)).toEqual([]);
    }),
    { numRuns: propertyRuns(100) },
  );
});

test('a number names one place', () => {
  const place = fc.record({
    provisional: fc.nat({ max: 2 ** 9 - 1 }),
    group: fc.nat({ max: 2 ** 14 - 1 }),
    unit: fc.nat({ max: 2 ** 16 - 1 }),
    tag: fc.nat({ max: 2 ** 14 - 1 }),
  });
  fc.assert(
    fc.property(place, (one) => {
      const number = sequenceOf(one);
      expect(Number.isSafeInteger(number)).toBe(true);
      expect(placeOf(number)).toEqual(one);
    }),
  );
  expect([placeOf(-1), placeOf(0.5), placeOf(2 ** 53)]).toEqual([undefined, undefined, undefined]);
});
