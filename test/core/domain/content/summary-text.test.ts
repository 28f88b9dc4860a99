import proto from '@temporalio/proto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EncryptionCodec, Keyring } from '../../../../src/codec/encryption.ts';
import { summaryText } from '../../../../src/core/domain/text.ts';

test('a short text is its own summary, on one line', () => {
  expect(summaryText('look_up:\n  order  42 ')).toBe('look_up: order 42');
});

test('a long text is cut, and ends in an ellipsis', () => {
  const summary = summaryText('word '.repeat(100));
  expect(summary).toMatch(/^(word )+w?o?r?d?…$/);
  expect(summary.length).toBeGreaterThan(200);
});

test('the payload of any summary fits into the 400 bytes of the server, encrypted with the longest key id', async () => {
  const keyId = 'k'.repeat(64);
  const codec = new EncryptionCodec(new Keyring({ activeKeyId: keyId, keys: { [keyId]: new Uint8Array(32) } }));
  const unit = fc.constantFrom('a', ' ', '"', '\\', '\u0001', 'ü', '漢', '🚀', '\ud800');
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ unit, maxLength: 500 }), fc.constant('x'.repeat(500))), async (text) => {
      const data = Buffer.from(JSON.stringify(summaryText(text)));
      const [payload] = await codec.encode([{ metadata: { encoding: Buffer.from('json/plain') }, data }]);
      expect(proto.temporal.api.common.v1.Payload.encode(payload ?? {}).finish().length).toBeLessThanOrEqual(400);
    }),
  );
});
