import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { raiseLimits, retryOf, sendText } from '../../../src/cli/commands/steer.ts';
import { revokeDecision } from '../../../src/cli/commands/decisions.ts';
import type { MessageReceipt, RaiseReceipt } from '../../../src/core/protocol.ts';
import { commandIo } from '../command-io.ts';

const RUN = { runId: 'clerk-1' };

function receiver(receipt: Partial<MessageReceipt> = {}): { run: Parameters<typeof sendText>[1]; sent: unknown[] } {
  const sent: unknown[] = [];
  const send: Parameters<typeof sendText>[1]['send'] = (content, options) => {
    sent.push([content, options]);
    return Promise.resolve({ version: 1, id: options?.id ?? '', status: 'queued', queued: 1, offset: 7, beforeStep: 3, ...receipt });
  };
  return { run: { ...RUN, send }, sent };
}

test('a message shows its position in the run', async () => {
  const { run, sent } = receiver();
  const { io, stdout } = commandIo();
  expect(await sendText(io, run, { ...RUN, text: 'only this year', mode: 'steer', id: 'm1' })).toBe(0);
  expect(sent).toEqual([['only this year', { id: 'm1', mode: 'steer' }]]);
  expect(stdout()).toBe('Message "m1" is accepted: event 7 or later, read before step 3\n');
});

test('a repeated message changes nothing, and with --json the receipt is printed', async () => {
  const { run } = receiver({ status: 'duplicate' });
  const person = commandIo();
  await sendText(person.io, run, { ...RUN, text: 'x', mode: 'queue', id: 'm1' });
  expect(person.stdout()).toBe('Message "m1" had been accepted before: nothing changes\n');
  const machine = commandIo({ json: true });
  await sendText(machine.io, run, { ...RUN, text: 'x', mode: 'queue' });
  expect(machine.json()).toMatchObject([
    { ...RUN, version: 1, status: 'duplicate', id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string },
  ]);
});

function raisable(status: RaiseReceipt['status']): { run: Parameters<typeof raiseLimits>[1]; asked: unknown[] } {
  const asked: unknown[] = [];
  const raise: Parameters<typeof raiseLimits>[1]['raise'] = (limits, options) => {
    asked.push([limits, options]);
    const now = { steps: 20, finalAttempt: false, costUsd: 2, deadlineMs: 14_400_000 };
    return Promise.resolve({ version: 1, id: options?.id ?? '', status, limits: now });
  };
  return { run: { ...RUN, raise }, asked };
}

test('raised limits are shown with their new values', async () => {
  const { run, asked } = raisable('raised');
  const { io, stdout } = commandIo();
  await raiseLimits(io, run, { limits: { steps: 20, deadline: '4h' }, id: 'r1' });
  expect(asked).toEqual([
    [
      { steps: 20, deadline: '4h' },
      { id: 'r1', by: userInfo().username },
    ],
  ]);
  expect(stdout()).toBe('Limits of run "clerk-1" are now: steps 20, cost $2.00, deadline 4h from the start\n');
});

test('limits that had been raised under the same id are not raised again', async () => {
  const { run } = raisable('duplicate');
  const { io, stdout } = commandIo();
  await raiseLimits(io, run, { limits: { costUsd: 2 }, id: 'r1', by: 'ann' });
  expect(stdout()).toBe('Limits had been raised by "r1" before: nothing changes\n');
});

test.each([
  [true, 'Decision "d1" holds for no further calls of run "clerk-1"\n'],
  [false, 'No decision "d1" held for further calls of run "clerk-1": there was nothing to revoke\n'],
])('revoked: %s is reported, and is not an error', async (revoked, said) => {
  const { io, stdout } = commandIo();
  const run = { ...RUN, revoke: () => Promise.resolve({ version: 1 as const, revoked }) };
  expect(await revokeDecision(io, run, { ...RUN, decisionId: 'd1' })).toBe(0);
  expect(stdout()).toBe(said);
});

test('a retry prints the run id on stdout, and on stderr the step it continues from and the messages to send again', async () => {
  const receipt = { ...RUN, fromStep: 3, executionId: 'e2', dropped: ['send', 'raise'] };
  const asked: unknown[] = [];
  const run = { ...RUN, retry: (options: unknown) => Promise.resolve((asked.push(options), receipt)) };
  const person = commandIo();
  expect(await retryOf(person.io, run, { fromStep: 3 })).toBe(0);
  expect(person.stdout()).toBe('clerk-1\n');
  expect(person.stderr()).toBe(
    'It continues from step 3. Wait for it: npx longhaul result clerk-1\n' +
      'Requests after that step are no longer part of the run, and can be sent again: send, raise\n',
  );
  const machine = commandIo({ json: true });
  await retryOf(machine.io, run, {});
  expect(machine.json()).toEqual([receipt]);
  expect(asked).toEqual([{ fromStep: 3 }, {}]);
});
