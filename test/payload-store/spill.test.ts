import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { createCodecs, markingCodecs } from '../../src/codec/with-codec.ts';
import { type PayloadStore, readSpilled, spill } from '../../src/stores/payload-store.ts';
import { key } from '../codec/payloads.ts';

const CONVERTER = { payloadConverter: defaultPayloadConverter, payloadCodecs: [] };
const RUN = { namespace: 'default', runId: 'r1' };

/** A store whose claims contain this value. */
function storeThatClaims(claimData: object): PayloadStore {
  return {
    name: 'files',
    type: 'files',
    store: () => Promise.resolve([{ claimData: claimData as Record<string, string> }]),
    retrieve: () => Promise.resolve([]),
    deleteRun: () => Promise.resolve(),
  };
}

test('stored content is found by the claim of the store', async () => {
  expect(await spill(storeThatClaims({ key: 'k' }), CONVERTER, RUN, ['all'])).toMatchObject({ store: 'files', claim: { key: 'k' } });
});

test.each([
  ['a BigInt', { key: 7n }],
  ['a number', { key: 7 }],
  ['an object', { key: {} }],
])('a claim with %s is refused: it could not be recorded as the result of the call', async (_, claimData) => {
  await expect(spill(storeThatClaims(claimData), CONVERTER, RUN, ['all'])).rejects.toMatchObject({
    code: 'internal',
    message: 'Payload store "files" returned a claim that is not an object of texts',
  });
});

test.each([
  ['encrypted content was changed', Buffer.alloc(60), 'binary/aes-256-gcm', 'A payload does not decrypt with the key "k1"'],
  ['its text is no JSON', Buffer.from('{"a'), 'json/plain', 'the data of the payload is not JSON'],
])('a worker says why content cannot be read, with the code for that: %s', async (_, data, encoding, reason) => {
  const codecs = createCodecs({ encryption: { activeKeyId: 'k1', keys: { k1: key(1) } } });
  // The key has decrypted something, so it is not in doubt.
  await codecs[1].decode(await codecs[1].encode([defaultPayloadConverter.toPayload('x')]));
  const metadata = { encoding: Buffer.from(encoding), 'encryption-key-id': Buffer.from('k1') };
  const store = { ...storeThatClaims({ key: 'k' }), retrieve: () => Promise.resolve([{ metadata, data }]) };
  const converter = { ...CONVERTER, payloadCodecs: markingCodecs(codecs, { doubtKeys: true }) };
  const spilled = { store: 'files', claim: { key: 'k' }, bytes: 1, sha256: '0'.repeat(64) };
  await expect(readSpilled(store, converter, spilled)).rejects.toMatchObject({
    code: 'spilled_unavailable',
    message: expect.stringContaining(`Store "files" has content that cannot be read: ${reason}`) as string,
  });
});
