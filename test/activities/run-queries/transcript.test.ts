import { beforeEach, expect, test, vi } from 'vitest';
import { type FetchTranscript, TranscriptCache } from '../../../activities/run-queries/transcript.ts';
import type { ToolResult } from '../../../src/core/domain/content.ts';
import { RECALL_FRAME, recallEvent } from '../../../src/core/domain/memory.ts';
import { defined } from '../../../src/core/domain/json.ts';
import { emptyWindow, extendWindow, type Folded, type Window } from '../../../src/core/domain/window.ts';

function event(id: string, text = id): Folded {
  return { id, author: 'a', content: [{ type: 'message', role: 'assistant', content: text }] };
}

const toolResult: ToolResult = { type: 'tool_result', toolCallId: 'c1', name: 't', status: 'success', content: ['R'] };

const run = { chain: 'run', execution: 'run@1' };

let cache: TranscriptCache;
beforeEach(() => void (cache = new TranscriptCache(1_000_000)));

function folded(events: Folded[]): Window {
  return events.reduce(extendWindow, emptyWindow());
}

/** A run that answers from `events`, as its transcript query does. */
function runOf(events: Folded[], carried = 0) {
  return vi.fn<FetchTranscript>(({ known, from }) => {
    const window = folded(events);
    const { through, lastEventId, usedCallIds } = window;
    const since = known.find((one) => one.through >= Math.max(1, carried) && events[one.through - 1]?.id === one.lastEventId)?.through;
    if (since === undefined) {
      return Promise.resolve({
        type: 'window',
        through,
        lastEventId,
        from,
        total: window.events.length,
        events: window.events.slice(from),
        ...defined({ usedCallIds }),
      });
    }
    const missing = events.slice(since);
    return Promise.resolve({ type: 'events', since, through, lastEventId, from, total: missing.length, events: missing.slice(from) });
  });
}

test('a conversation that this process has in memory is not requested', async () => {
  const fetch = runOf([event('e0')]);
  await cache.load(run, { through: 1, lastEventId: 'e0' }, fetch);
  cache.addResponse(run, 1, event('e1'));
  cache.addResult(run, 'r1', 'e1', toolResult);
  const { events } = await cache.load(run, { through: 3, lastEventId: 'e2', results: ['r1'] }, fetch);
  expect(events.map(({ id }) => id)).toEqual(['e0', 'e1', 'e2']);
  expect(events[2]?.content).toEqual([toolResult]);
  expect(fetch).toHaveBeenCalledTimes(1);
});

test('a process that has nothing in memory learns which ids were used by calls that a summary has replaced', async () => {
  const call = { type: 'tool_call' as const, toolCallId: 'call_0', name: 't', arguments: {} };
  const summary = { ...event('e2'), compaction: { summarized: { head: 0, tail: null } } };
  const all = [event('e0'), { ...event('e1'), content: [call] }, summary];
  const window = await cache.load(run, { through: 3, lastEventId: 'e2' }, runOf(all));
  expect(window).toEqual(folded(all));
  expect(window.usedCallIds).toEqual([['call_', 0]]);
});

test('the conversation of a run that has ended is forgotten, and the conversation of another run is not', async () => {
  const [ended, other] = [runOf([event('e0')]), runOf([event('e0')])];
  const another = { chain: 'another', execution: 'another@1' };
  const reference = { through: 1, lastEventId: 'e0' };
  await cache.load(run, reference, ended);
  await cache.load(another, reference, other);
  cache.forget(run);
  cache.forget(run);
  await cache.load(another, reference, other);
  await cache.load(run, reference, ended);
  expect(other).toHaveBeenCalledTimes(1);
  expect(ended).toHaveBeenCalledTimes(2);
});

test('recalled texts come before the response that they were given to', async () => {
  const recall = recallEvent({ id: 'r0', text: RECALL_FRAME, note: { entries: 1 } });
  const all = [event('e0'), recall, event('e1'), { id: 'e2', author: 'a', content: [toolResult] }];
  const fetch = runOf(all);
  await cache.load(run, { through: 1, lastEventId: 'e0' }, runOf([event('e0')]));
  cache.addResponse(run, 1, recall, event('e1'));
  cache.addResult(run, 'result', 'e1', toolResult);
  const window = await cache.load(run, { through: 4, lastEventId: 'e2', results: ['result'] }, fetch);
  expect(window).toEqual(folded(all));
  expect(fetch).not.toHaveBeenCalled();
});

test('a memory that was not available takes an offset, and no place in the conversation', async () => {
  const recall = recallEvent({ id: 'r0', text: '', note: { unavailable: 'no connection' } });
  await cache.load(run, { through: 1, lastEventId: 'e0' }, runOf([event('e0')]));
  cache.addResponse(run, 1, recall, event('e1'));
  const fetch = runOf([event('e0'), recall, event('e1')]);
  const { events } = await cache.load(run, { through: 3, lastEventId: 'e1' }, fetch);
  expect(events.map(({ id, offset }) => [id, offset])).toEqual([
    ['e0', 0],
    ['e1', 2],
  ]);
  expect(fetch).not.toHaveBeenCalled();
});

test('events that the workflow has handed over are not requested', async () => {
  const fetch = runOf([event('e0')]);
  cache.addNews(run, { since: 0, sinceEventId: '', events: [event('e0')], digest: 'first' });
  expect(await cache.load(run, { through: 1, lastEventId: 'e0', news: 'first' }, fetch)).toEqual(folded([event('e0')]));
  cache.addResponse(run, 1, event('e1'));
  cache.addNews(run, { since: 2, sinceEventId: 'e1', events: [event('e2'), event('e3')], digest: 'second' });
  const { events } = await cache.load(run, { through: 4, lastEventId: 'e3', news: 'second' }, fetch);
  expect(events.map(({ id }) => id)).toEqual(['e0', 'e1', 'e2', 'e3']);
  expect(fetch).not.toHaveBeenCalled();
});

test.each([
  ['with another digest: the workflow task was executed again', { since: 1, sinceEventId: 'e0', digest: 'other' }],
  ['after an event that the process does not have', { since: 1, sinceEventId: 'lost', digest: 'wanted' }],
  ['after more events than the process has', { since: 2, sinceEventId: 'e0', digest: 'wanted' }],
])('events that were handed over %s are not used', async (_, news) => {
  const recorded = [event('e0'), event('e1', 'recorded')];
  await cache.load(run, { through: 1, lastEventId: 'e0' }, runOf(recorded.slice(0, 1)));
  cache.addNews(run, { ...news, events: [event('e1', 'another attempt')] });
  const fetch = runOf(recorded);
  expect(await cache.load(run, { through: 2, lastEventId: 'e1', news: 'wanted' }, fetch)).toEqual(folded(recorded));
  expect(fetch).toHaveBeenCalledTimes(1);
});

test('events that were handed over count towards the memory limit', async () => {
  cache = new TranscriptCache(10_000);
  cache.addNews(run, { since: 0, sinceEventId: '', events: [event('e0', 'x'.repeat(20_000))], digest: 'd' });
  const fetch = runOf([event('e0')]);
  await cache.load(run, { through: 1, lastEventId: 'e0', news: 'd' }, fetch);
  expect(fetch).toHaveBeenCalledTimes(1);
});

test('a result is found in the execution after the one with its call', async () => {
  const fetch = runOf([event('e0'), event('e1')]);
  await cache.load(run, { through: 2, lastEventId: 'e1' }, fetch);
  const next = { ...run, execution: 'run@2' };
  cache.addResult(next, 'r1', 'e1', toolResult);
  cache.addResult(next, 'r2', 'e1', toolResult);
  await cache.load(next, { through: 3, lastEventId: 'e2', results: ['r1', 'r2'] }, fetch);
  expect(fetch).toHaveBeenCalledTimes(1);
});

test('results that no model call has used yet count towards the memory limit, even small ones', async () => {
  cache = new TranscriptCache(100_000);
  const fetch = runOf([event('e0')]);
  await cache.load(run, { through: 1, lastEventId: 'e0' }, fetch);
  for (let call = 0; call < 20; call += 1) cache.addResult(run, `r${call}`, 'e0', { ...toolResult, content: ['x'.repeat(10_000)] });
  await cache.load(run, { through: 1, lastEventId: 'e0' }, fetch);
  expect(fetch).toHaveBeenCalledTimes(2);
});

test('only the missing events are requested', async () => {
  const all = [event('e0'), event('e1'), event('e2')];
  await cache.load(run, { through: 1, lastEventId: 'e0' }, runOf(all.slice(0, 1)));
  const fetch = runOf(all);
  expect(await cache.load(run, { through: 3, lastEventId: 'e2' }, fetch)).toEqual(folded(all));
  expect(fetch.mock.calls).toEqual([[{ known: expect.arrayContaining([{ through: 1, lastEventId: 'e0' }]), from: 0 }]]);
  expect(await fetch.mock.results[0]?.value).toMatchObject({ type: 'events', events: all.slice(1) });
});

test('a response that the workflow did not record is dropped: it recorded another attempt', async () => {
  await cache.load(run, { through: 1, lastEventId: 'e0' }, runOf([event('e0')]));
  cache.addResponse(run, 1, event('lost'));
  const recorded = [event('e0'), event('e1'), event('e2')];
  expect(await cache.load(run, { through: 3, lastEventId: 'e2', results: ['r1'] }, runOf(recorded))).toEqual(folded(recorded));
});

test('a result of another attempt is not taken for the recorded one', async () => {
  await cache.load(run, { through: 1, lastEventId: 'e0' }, runOf([event('e0')]));
  cache.addResponse(run, 1, event('e1'));
  cache.addResult(run, 'stale', 'e1', { ...toolResult, content: ['stale'] });
  const recorded = [event('e0'), event('e1'), { id: 'e2', author: 'a', content: [toolResult] }];
  expect(await cache.load(run, { through: 3, lastEventId: 'e2', results: ['r1'] }, runOf(recorded))).toEqual(folded(recorded));
});

test('if the run has other events than the workflow named, the call fails and is retried', async () => {
  await expect(cache.load(run, { through: 1, lastEventId: 'e0' }, runOf([event('other')]))).rejects.toMatchObject({
    code: 'transcript_unavailable',
  });
});

test('one run gets its queries one at a time', async () => {
  let open = 0;
  let most = 0;
  const fetch: FetchTranscript = async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setTimeout(resolve, 1));
    open -= 1;
    return { type: 'window', through: 1, lastEventId: 'e0', from: 0, total: 1, events: folded([event('e0')]).events };
  };
  const reference = { through: 1, lastEventId: 'e0' };
  await Promise.all(Array.from({ length: 5 }, async () => cache.load(run, reference, fetch)));
  expect(most).toBe(1);
});

test('events above the memory limit are dropped and requested again', async () => {
  cache = new TranscriptCache(500);
  const fetch = runOf([event('e0', 'x'.repeat(300))]);
  const reference = { through: 1, lastEventId: 'e0' };
  await cache.load({ chain: 'one', execution: 'one@1' }, reference, fetch);
  await cache.load({ chain: 'two', execution: 'two@1' }, reference, fetch);
  await cache.load({ chain: 'one', execution: 'one@1' }, reference, fetch);
  expect(fetch).toHaveBeenCalledTimes(3);
});

test('the next execution of a run uses the events of the previous one, and requests nothing', async () => {
  const fetch = runOf([event('e0')]);
  await cache.load(run, { through: 1, lastEventId: 'e0' }, fetch);
  cache.addResponse(run, 1, event('e1'));
  cache.addResult(run, 'r1', 'e1', toolResult);
  const next = { chain: 'run', execution: 'run@2' };
  const { events } = await cache.load(next, { through: 3, lastEventId: 'e2', results: ['r1'] }, fetch);
  expect(events.map(({ id }) => id)).toEqual(['e0', 'e1', 'e2']);
  expect(fetch).toHaveBeenCalledTimes(1);
});

test("after a compaction only the compaction is requested, and the window equals the run's window", async () => {
  const results = { id: 'e2', author: 'a', content: [{ ...toolResult, content: ['x'.repeat(500)] }] };
  const before = [event('e0'), event('e1'), results];
  await cache.load(run, { through: 3, lastEventId: 'e2' }, runOf(before));
  const after: Folded[] = [...before, { id: 'e3', author: 'a', content: [], compaction: { evicted: [[2, 0]] } }];
  const fetch = runOf(after);
  expect(await cache.load(run, { through: 4, lastEventId: 'e3' }, fetch)).toEqual(folded(after));
  expect(await fetch.mock.results[0]?.value).toMatchObject({ events: [{ id: 'e3' }] });
});
