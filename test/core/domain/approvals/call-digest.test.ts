import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { callDigest as digestOfActivity } from '../../../../activities/approvals/approval-requirements.ts';
import { callDigest } from '../../../../src/core/domain/approvals.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';

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
