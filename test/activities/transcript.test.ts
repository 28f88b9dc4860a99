import { expect, test, vi } from 'vitest';
import { type FetchTranscript, TranscriptCache, type TranscriptEvent } from '../../activities/transcript.ts';
import type { ToolResult } from '../../src/domain/content.ts';

function event(id: string, text = id): TranscriptEvent {
  return { id, author: 'a', content: [{ type: 'message', role: 'assistant', content: text }] };
}

const toolResult: ToolResult = { type: 'tool_result', toolCallId: 'c1', name: 't', status: 'success', content: ['R'] };

/** A run that answers from `events`, the way its transcript query does. */
function runOf(events: TranscriptEvent[]) {
  return vi.fn<FetchTranscript>((from, knownId) => {
    const start = from > 0 && events[from - 1]?.id === knownId ? from : 0;
    return Promise.resolve({ from: start, events: events.slice(start) });
  });
}

test('a conversation that this process knows is not asked for', async () => {
  const cache = new TranscriptCache(1_000_000);
  const fetch = runOf([event('e0')]);
  await cache.load('run', { through: 1, lastEventId: 'e0' }, fetch);
  cache.addResponse('run', 1, event('e1'));
  cache.addResult('run', 'r1', 'e1', toolResult);
  const events = await cache.load('run', { through: 3, lastEventId: 'e2', results: ['r1'] }, fetch);
  expect(events.map(({ id }) => id)).toEqual(['e0', 'e1', 'e2']);
  expect(events[2]?.content).toEqual([toolResult]);
  expect(fetch).toHaveBeenCalledTimes(1);
});

test('only what is missing is asked for', async () => {
  const cache = new TranscriptCache(1_000_000);
  const all = [event('e0'), event('e1'), event('e2')];
  await cache.load('run', { through: 1, lastEventId: 'e0' }, runOf(all.slice(0, 1)));
  const fetch = runOf(all);
  expect(await cache.load('run', { through: 3, lastEventId: 'e2' }, fetch)).toEqual(all);
  expect(fetch.mock.calls).toEqual([[1, 'e0']]);
});

test('a response that the workflow did not record is dropped: another attempt was', async () => {
  const cache = new TranscriptCache(1_000_000);
  await cache.load('run', { through: 1, lastEventId: 'e0' }, runOf([event('e0')]));
  cache.addResponse('run', 1, event('lost'));
  const recorded = [event('e0'), event('e1'), event('e2')];
  expect(await cache.load('run', { through: 3, lastEventId: 'e2', results: ['r1'] }, runOf(recorded))).toEqual(recorded);
});

test('a result of another attempt is not taken for the recorded one', async () => {
  const cache = new TranscriptCache(1_000_000);
  await cache.load('run', { through: 1, lastEventId: 'e0' }, runOf([event('e0')]));
  cache.addResponse('run', 1, event('e1'));
  cache.addResult('run', 'stale', 'e1', { ...toolResult, content: ['stale'] });
  const recorded = [event('e0'), event('e1'), { id: 'e2', author: 'a', content: [toolResult] }];
  expect(await cache.load('run', { through: 3, lastEventId: 'e2', results: ['r1'] }, runOf(recorded))).toEqual(recorded);
});

test('a run that has other events than the workflow names is an error that is tried again, not a wrong conversation', async () => {
  const cache = new TranscriptCache(1_000_000);
  await expect(cache.load('run', { through: 1, lastEventId: 'e0' }, runOf([event('other')]))).rejects.toMatchObject({
    code: 'transcript_unavailable',
  });
});

test('questions of one run are asked one at a time', async () => {
  const cache = new TranscriptCache(1_000_000);
  let open = 0;
  let most = 0;
  const fetch: FetchTranscript = async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setTimeout(resolve, 1));
    open -= 1;
    return { from: 0, events: [event('e0')] };
  };
  const reference = { through: 1, lastEventId: 'e0' };
  await Promise.all(Array.from({ length: 5 }, async () => cache.load('run', reference, fetch)));
  expect(most).toBe(1);
});

test('what exceeds the memory that is allowed is forgotten and asked for again', async () => {
  const cache = new TranscriptCache(500);
  const fetch = runOf([event('e0', 'x'.repeat(300))]);
  const reference = { through: 1, lastEventId: 'e0' };
  await cache.load('one', reference, fetch);
  await cache.load('two', reference, fetch);
  await cache.load('one', reference, fetch);
  expect(fetch).toHaveBeenCalledTimes(3);
});
