import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callDigest as digestOfActivity } from '../../../activities/approvals/approvals.ts';
import { type ApprovalView, callDigest, placeOfKey, updateForm } from '../../../src/core/domain/approvals.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import { decisionProblem } from '../../../src/core/input-checks.ts';

const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 40, maxLength: 300 }));

test('the sandbox and the activities give a call the same digest', () => {
  fc.assert(
    fc.property(texts, fc.dictionary(fc.string(), fc.oneof(texts, fc.integer(), fc.constant(null))), (name, args) => {
      const call = { type: 'tool_call' as const, toolCallId: 'c1', name, arguments: args as JsonObject };
      expect(callDigest(name, call.arguments)).toBe(digestOfActivity(call));
    }),
  );
});

test('calls that differ have other digests', () => {
  expect(callDigest('pay', { amount: 1 })).toBe(callDigest('pay', { amount: 1 }));
  expect(callDigest('pay', { amount: 2 })).not.toBe(callDigest('pay', { amount: 1 }));
  expect(callDigest('refund', { amount: 1 })).not.toBe(callDigest('pay', { amount: 1 }));
});

test.each([
  ['e1/0', 'e1', 0],
  ['e1/12/outcome', 'e1', 12],
  // The agents of a parallel flow are called by an event that is named after the run.
  ['run/1/branches/2', 'run/1/branches', 2],
  ['run/branches/2/outcome', 'run/branches', 2],
])('the key %s of an approval has the place of its call', (key, eventId, index) => {
  expect(placeOfKey(key)).toEqual({ eventId, index });
});

const waiting = { callId: 'c1', digest: 'D', key: 'e1/0' };
const NAMES = { tool: ['approve', 'reject'], limit: ['approve', 'reject'], question: ['respond'], outcome: ['respond'] };

test.each(Object.entries(NAMES))('the form for a %s can be sent unchanged', (kind, names) => {
  const form = updateForm({ ...waiting, key: `${'0'.repeat(80)}/0`, kind: kind as ApprovalView['kind'] });
  expect(form.names).toEqual(names);
  for (const name of names) expect(decisionProblem(name as 'approve', form.input)).toBeUndefined();
});

test('an answer has the members that its schema names', () => {
  const answer = { type: 'object', properties: { refund: {}, note: {} } };
  expect(updateForm({ ...waiting, kind: 'question', answer }).input).toEqual({
    callId: 'c1',
    id: 'ui-e1/0',
    digest: 'D',
    content: { refund: '…', note: '…' },
  });
});
