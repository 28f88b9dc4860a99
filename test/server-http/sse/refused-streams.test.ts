import { describe, expect, it } from 'vitest';
import { beginning, cursorAt } from '../../../src/client/stream/stream-item.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { createHandler } from '../../../src/server/index.ts';
import { FakeRun } from '../../client/stream/fake-run.ts';
import { feedsOf } from '../../client/stream/read-stream.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer, clientWithRun, type JsonRequest, send } from '../requests.ts';

interface Options {
  cursor?: string;
  signal: AbortSignal;
}

/** A client whose only run has ended, with two events. */
function endedRun() {
  const run = new FakeRun();
  run.record('question', [{ type: 'message', role: 'user', content: 'Hi' }], { author: 'user' });
  run.record('answer', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
  run.end();
  const opened: (string | undefined)[] = [];
  const stream = ({ cursor, signal }: Options) => {
    opened.push(cursor);
    return feedsOf(run).stream(cursor, signal);
  };
  return { run, opened, client: clientWithRun({ stream }) };
}

async function* removed(): AsyncGenerator<object> {
  yield* [];
  throw new LonghaulError('history_removed', 'Events 0 to 9 of run "r" are gone');
}

/** The cursor of the first event of the run. */
async function firstCursor(run: FakeRun): Promise<string> {
  for await (const { type, cursor } of feedsOf(run).stream()) if (type === 'event') return cursor;
  throw new Error('The run has no event');
}

const lastEventId = (cursor: string): JsonRequest => ({ headers: { 'last-event-id': cursor } });

describe.each(['/v1/runs/run-1/stream', '/v1/sessions/run-1/stream'])('GET %s', (path) => {
  it.each<[string, string, JsonRequest]>([
    ['in its query', `${path}?cursor=nonsense`, {}],
    ['in Last-Event-ID', path, lastEventId('nonsense')],
    ['in Last-Event-ID, whatever its query has', `${path}?cursor=other`, lastEventId('nonsense')],
  ])('is refused with an invalid cursor, %s', async (_, url, request) => {
    const { client, opened } = endedRun();
    const { status, body } = await answer(await checkedHandler(client), 'GET', url, request);
    expect([status, body.code, opened]).toEqual([400, 'invalid_cursor', ['nonsense']]);
    expect(body.detail).toContain('nonsense');
  });

  it('is refused with the cursor of another run', async () => {
    const { client } = endedRun();
    const cursor = cursorAt('run-2', beginning());
    const { status, body } = await answer(await checkedHandler(client), 'GET', `${path}?cursor=${cursor}`);
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  });

  it('continues after the cursor in its query, or after Last-Event-ID if it has both', async () => {
    const { run, client } = endedRun();
    const handler = createHandler(client);
    const cursor = await firstCursor(run);
    for (const request of [
      { url: `${path}?cursor=${cursor}`, more: {} },
      { url: path, more: lastEventId(cursor) },
      { url: `${path}?cursor=nonsense`, more: lastEventId(cursor) },
    ]) {
      const response = await send(handler, 'GET', request.url, request.more);
      const text = await response.text();
      expect([response.status, text.includes('"id":"question"'), text.includes('"id":"answer"')]).toEqual([200, false, true]);
    }
  });
});

it.each([
  ['/v1/runs/r/stream', { stream: removed }],
  ['/v1/sessions/r/stream', { stream: removed }],
  ['/v1/runs/r/events?from=3', { events: removed }],
  ['/v1/runs/r/tree/events', { events: removed }],
  ['/v1/runs/r/export', { export: removed }],
])('%s is refused with 410 if the server has removed the events', async (path, run) => {
  const { status, body } = await answer(await checkedHandler(clientWithRun(run)), 'GET', path);
  expect([status, body.code, body.detail]).toEqual([410, 'history_removed', 'Events 0 to 9 of run "r" are gone']);
});
