import { beforeEach, describe, expect, it, test } from 'vitest';
// oxlint-disable-next-line import/no-unassigned-import -- it composes the capabilities, which keep values in an inbox.
import '../../../../src/core/capabilities.ts';
import type { Decision, RefusedRequest } from '../../../../src/core/domain/approvals.ts';
import { BYTE_BUDGETS, MAX_QUEUED_MESSAGES } from '../../../../src/core/domain/byte-budgets.ts';
import type { LimitRaise } from '../../../../src/core/domain/limits.ts';
import type { QueuedMessage } from '../../../../src/core/domain/content.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';

function message(id: string, content = id): QueuedMessage {
  return { id, content, timestamp: '2023-11-14T22:13:20.000Z' };
}

let inbox: Inbox;
beforeEach(() => void (inbox = new Inbox()));

/** The inbox of the next execution. */
function carriedOver(before: Inbox): Inbox {
  return new Inbox(JSON.parse(JSON.stringify(before.carried())));
}

describe('the inbox of a run', () => {
  it('gives messages in order, once', () => {
    expect([inbox.add(message('m1')), inbox.add(message('m2'))]).toEqual([true, true]);
    expect(inbox.queued).toBe(2);
    expect(inbox.take()).toEqual([message('m1'), message('m2')]);
    expect(inbox.take()).toEqual([]);
    expect(inbox.queued).toBe(0);
  });

  it('accepts a message id once, even if the first message is no longer queued, in this execution and the next', () => {
    inbox.add(message('m1'));
    expect(inbox.add(message('m1', 'again'))).toBe(false);
    const next = carriedOver(inbox);
    expect(next.add(message('m1', 'again'))).toBe(false);
    expect(next.take()).toEqual([message('m1')]);
    expect(carriedOver(next).add(message('m1', 'again'))).toBe(false);
    expect(carriedOver(next).accepted.has('m1')).toBe(true);
  });

  it('carries its contents, and the state of a pause', () => {
    inbox.pause(true);
    inbox.add(message('m1'));
    const next = carriedOver(inbox);
    expect(next.paused).toBe(true);
    next.add(message('m2'));
    expect(next.take().map(({ id }) => id)).toEqual(['m1', 'm2']);
  });

  it('remembers the newest ids, of any number of messages', () => {
    for (let count = 1; count <= 2_500; count += 1) inbox.add(message(`m${count}`));
    const { seen } = inbox.carried();
    expect([seen[0], seen.at(-1), seen.length]).toEqual(['m501', 'm2500', 2_000]);
  });

  it('remembers 200 ids of executions before, so that a session of months does not carry thousands, and all of those that are queued', () => {
    for (let count = 1; count <= 500; count += 1) inbox.add(message(`m${count}`));
    const waiting = carriedOver(inbox);
    expect(carriedOver(waiting).add(message('m1'))).toBe(false);
    waiting.take();
    expect(waiting.carried().seen).toEqual(Array.from({ length: 200 }, (_, index) => `m${index + 301}`));
    for (let count = 501; count <= 800; count += 1) waiting.add(message(`m${count}`));
    waiting.take();
    expect(waiting.carried().seen).toEqual(Array.from({ length: 300 }, (_, index) => `m${index + 501}`));
  });

  it('remembers fewer ids if they are long, so that they can be carried', () => {
    for (let count = 1; count <= 2_500; count += 1) inbox.add(message(`${'\u0001'.repeat(60)}${count}`));
    const { seen } = inbox.carried();
    expect(JSON.stringify(seen).length).toBeLessThanOrEqual(140_002);
    expect(seen.length).toBeGreaterThan(MAX_QUEUED_MESSAGES);
    expect(seen.at(-1)).toMatch(/2500$/);
  });

  it('is busy from 1,600 Updates of an execution on, and free again in the next', () => {
    for (let count = 1; count < 1_600; count += 1) inbox.countUpdate();
    expect(inbox.isBusy('messages')).toBe(false);
    inbox.countUpdate();
    expect(inbox.isBusy('messages')).toBe(true);
    expect(inbox).toMatchObject({ updates: 1_600, received: 1_600 });
    expect(carriedOver(inbox)).toMatchObject({ updates: 0, received: 0 });
    expect(carriedOver(inbox).isBusy('messages')).toBe(false);
  });

  it('accepts decisions after it refuses messages, up to 1,900 Updates', () => {
    for (let count = 1; count < 1_900; count += 1) inbox.countUpdate();
    expect([inbox.isBusy('messages'), inbox.isBusy('decisions')]).toEqual([true, false]);
    inbox.countUpdate();
    expect(inbox.isBusy('decisions')).toBe(true);
  });
});

describe('the queue of a run', () => {
  it('has room for this number of messages', () => {
    for (let count = 1; count < MAX_QUEUED_MESSAGES; count += 1) inbox.add(message(`m${count}`));
    expect(inbox.hasRoomFor(message('x'))).toBe(true);
    inbox.add(message('x'));
    expect(inbox.hasRoomFor(message('y'))).toBe(false);
    inbox.take();
    expect(inbox.hasRoomFor(message('y'))).toBe(true);
  });

  it('has room for this number of bytes: one byte below, at, and above', () => {
    const text = (bytes: number): string => 'x'.repeat(bytes - 2);
    inbox.add(message('m1', text(BYTE_BUDGETS.message)));
    const room = BYTE_BUDGETS.queue - BYTE_BUDGETS.message;
    expect([room - 1, room, room + 1].map((bytes) => inbox.hasRoomFor(message('m2', text(bytes))))).toEqual([true, true, false]);
  });
});

describe('the requests that wait to be applied', () => {
  const decision: Decision = {
    id: 'd1',
    type: 'approve',
    callId: 'c1',
    toolName: 't',
    digest: 'of c1',
    by: 'ann',
    source: 'update',
    at: '2026-01-31T10:00:00.000Z',
  };
  const raise: LimitRaise = { id: 'r1', limits: { totalTokens: 5 }, by: null, at: decision.at };
  const refused: RefusedRequest = { request: 'approve', callId: 'c1', code: 'unknown_call', message: 'no such call' };

  it('are taken in order, once, in this execution or the next', () => {
    inbox.decide(decision);
    inbox.decide({ ...decision, id: 'd2' });
    expect([inbox.raise(raise), inbox.raise(raise)]).toEqual([true, false]);
    inbox.refuse(refused);
    expect(inbox.takeDecisions(1)).toEqual([decision]);
    const next = carriedOver(inbox);
    expect(next.decisions.map(({ id }) => id)).toEqual(['d2']);
    expect([next.takeDecisions(), next.takeRaises(), next.takeRefused()]).toEqual([[{ ...decision, id: 'd2' }], [raise], [refused]]);
    expect([next.takeDecisions(), next.takeRaises(), next.takeRefused()]).toEqual([[], [], []]);
    expect(next.raise(raise)).toBe(false);
  });

  it('have room for the largest decision, and a limit in bytes together', () => {
    const large = { ...decision, arguments: { k: 'x'.repeat(BYTE_BUDGETS.decision) } };
    expect(inbox.hasRoomForRequest(large)).toBe(true);
    inbox.decide(large);
    expect(inbox.hasRoomForRequest(decision)).toBe(true);
    expect(inbox.hasRoomForRequest(large)).toBe(false);
    inbox.takeDecisions();
    expect(inbox.hasRoomForRequest(large)).toBe(true);
  });

  it('include few and short refusals, for any Signals', () => {
    for (let count = 0; count < 1_000; count += 1) inbox.refuse({ ...refused, message: 'x'.repeat(100_000) });
    const kept = inbox.takeRefused();
    expect(kept).toHaveLength(MAX_QUEUED_MESSAGES);
    expect(JSON.stringify(kept).length).toBeLessThan(BYTE_BUDGETS.requests);
    expect(kept[0]?.message).toMatch(/^x+ \[Cut/);
  });
});

test('the reason of a cancellation that was sent ahead is carried into the next execution', () => {
  expect(inbox.carried()).not.toHaveProperty('cancelReason');
  inbox.cancelReason = 'too slow';
  expect(carriedOver(inbox).cancelReason).toBe('too slow');
});
