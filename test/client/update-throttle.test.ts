import { type Client, ServiceError } from '@temporalio/client';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { throttleOf, updateRun } from '../../src/client/updates.ts';
import { UPDATES } from '../../src/core/protocol.ts';

/** An Update that is being sent to the server. */
interface OnItsWay {
  argument: unknown;
  answer(value: unknown): void;
  fail(error: Error): void;
}

/** A client whose Updates are answered by the test. */
function fakeClient(): { client: Client; sent: OnItsWay[] } {
  const sent: OnItsWay[] = [];
  const executeUpdate = (_name: string, { args: [argument] }: { args: unknown[] }): Promise<unknown> =>
    new Promise((resolve, reject) => sent.push({ argument, answer: resolve, fail: reject }));
  const client = { workflow: { getHandle: () => ({ executeUpdate }) }, withDeadline: (_: number, send: () => unknown) => send() };
  return { client: client as unknown as Client, sent };
}

function shed(code: number, details: string): Error {
  const cause = Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });
  return new ServiceError('Workflow Update failed', { cause });
}

afterEach(() => {
  vi.useRealTimers();
});

test('messages of one client to one run are sent one after the other, in order', async () => {
  const { client, sent } = fakeClient();
  const answers = ['a', 'b', 'c'].map((argument) => updateRun(client, 'run', { name: UPDATES.send, argument }));
  for (const [index, text] of ['a', 'b', 'c'].entries()) {
    await turn();
    expect(sent.map(({ argument }) => argument)).toEqual(['a', 'b', 'c'].slice(0, index + 1));
    sent[index]?.answer(`took ${text}`);
  }
  expect(await Promise.all(answers)).toEqual(['took a', 'took b', 'took c']);
});

test('decisions are sent two at a time, and neither they nor other runs wait for messages', async () => {
  const { client, sent } = fakeClient();
  const messages = [1, 2].map((argument) => updateRun(client, 'run', { name: UPDATES.send, argument }));
  const decisions = [3, 4, 5, 6, 7].map((argument) => updateRun(client, 'run', { name: UPDATES.approve, argument }));
  const other = updateRun(client, 'other run', { name: UPDATES.send, argument: 8 });
  await turn();
  expect(sent.map(({ argument }) => argument)).toEqual([1, 3, 4, 8]);
  while (sent.length < 8) {
    for (const one of sent) one.answer(one.argument);
    await turn();
  }
  for (const one of sent) one.answer(one.argument);
  expect(await Promise.all([...messages, ...decisions, other])).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('a message that waits behind an unanswered one is given up at its own deadline, and never sent', async () => {
  const { client, sent } = fakeClient();
  const first = updateRun(client, 'run', { name: UPDATES.send, argument: 'first' });
  await expect(updateRun(client, 'run', { name: UPDATES.send, argument: 'second' }, { timeout: 20 })).rejects.toMatchObject({
    code: 'wait_timeout',
    message: expect.stringContaining('the earlier requests of this client were not accepted') as string,
  });
  sent[0]?.answer('taken');
  expect(await first).toBe('taken');
  await turn();
  expect(sent).toHaveLength(1);
});

test.each([
  [8, 'limit on number of concurrent in-flight updates has been reached (10)'],
  [14, 'workflow update was aborted'],
])('if the server sheds an Update (%i), it is sent again later, and the next one waits longer', async (code, details) => {
  vi.useFakeTimers();
  const { client, sent } = fakeClient();
  const taken = updateRun(client, 'run', { name: UPDATES.send, argument: 'a' });
  await vi.advanceTimersByTimeAsync(0);
  sent[0]?.fail(shed(code, details));
  // The wait is at least half of the pause: a client that retries at once is shed again, and has other Updates aborted.
  await vi.advanceTimersByTimeAsync(150);
  expect(sent).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(sent).toHaveLength(2);
  sent[1]?.answer('taken');
  expect(await taken).toBe('taken');
  const next = updateRun(client, 'run', { name: UPDATES.send, argument: 'b' });
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1_000);
  sent[2]?.answer('taken too');
  expect(await next).toBe('taken too');
});

test('a run that has continued as new gets the Update again at once, without a pause', async () => {
  vi.useFakeTimers();
  const { client, sent } = fakeClient();
  const taken = updateRun(client, 'run', { name: UPDATES.send, argument: 'a' });
  await vi.advanceTimersByTimeAsync(0);
  sent[0]?.fail(shed(8, 'workflow operation can not be applied because workflow is closing'));
  await vi.advanceTimersByTimeAsync(40);
  sent[1]?.answer('taken');
  expect(await taken).toBe('taken');
  void updateRun(client, 'run', { name: UPDATES.send, argument: 'b' });
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toHaveLength(3);
});

test('the pause of a run is forgotten after a while without requests', async () => {
  const { client } = fakeClient();
  const lane = throttleOf(client, 'run', 'messages');
  await lane.throttled(Date.now() + 1_000, () => Promise.resolve(lane.congested(Date.now())));
  expect(throttleOf(client, 'run', 'messages')).toBe(lane);
  vi.useFakeTimers({ now: Date.now() + 11_000 });
  expect(throttleOf(client, 'run', 'messages')).not.toBe(lane);
});
