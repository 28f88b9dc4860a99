import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { type PayloadStore, spill } from '../../src/stores/payload-store.ts';

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
