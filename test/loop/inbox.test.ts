import { expect, test } from 'vitest';
import { Inbox } from '../../src/loop/inbox.ts';

test('the reason of a cancellation that was said ahead goes on into the next execution', () => {
  const inbox = new Inbox();
  expect(inbox.carried()).not.toHaveProperty('cancelReason');
  inbox.cancelReason = 'too slow';
  expect(new Inbox(JSON.parse(JSON.stringify(inbox.carried()))).cancelReason).toBe('too slow');
});
