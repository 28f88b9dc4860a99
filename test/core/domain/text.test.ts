import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import proto from '@temporalio/proto';
import { nearestName, oneLine, shortened, summaryText, utf8Length, utf8Prefix } from '../../../src/core/domain/text.ts';
import { EncryptionCodec, Keyring } from '../../../src/codec/encryption.ts';

describe('a text cut to bytes', () => {
  it.each([
    ['abc', 2, 'ab'],
    ['aé', 2, 'a'],
    ['aé', 3, 'aé'],
    ['€€', 4, '€'],
    ['😀b', 3, ''],
    ['😀b', 4, '😀'],
    ['abc', 0, ''],
    ['abc', -1, ''],
    ['', 5, ''],
  ])('%j at %i bytes is %j', (text, bytes, cut) => {
    expect(utf8Prefix(text, bytes)).toBe(cut);
  });

  it('is the longest prefix of whole characters that fits', () => {
    const text = fc.string({ unit: 'grapheme' }).map((value) => value.toWellFormed());
    fc.assert(
      fc.property(text, fc.nat(60), (value, bytes) => {
        const cut = utf8Prefix(value, bytes);
        expect(value.startsWith(cut)).toBe(true);
        expect(utf8Length(cut)).toBeLessThanOrEqual(bytes);
        const [next] = value.slice(cut.length);
        const longer = next === undefined ? Infinity : utf8Length(cut + next);
        expect(longer).toBeGreaterThan(bytes);
      }),
    );
  });
});

describe('one line', () => {
  it('folds white space and shows a cut as an ellipsis within the limit', () => {
    expect(oneLine(' a\n  b\tc ', 100)).toBe('a b c');
    expect(oneLine('abcdefgh', 6)).toBe('abc…');
    expect(utf8Length(oneLine('é'.repeat(300), 400))).toBeLessThanOrEqual(400);
  });
});

it('counts the bytes of texts of any length and script', () => {
  const texts = fc.tuple(fc.string({ unit: 'binary' }), fc.constantFrom(0, 1, 2_048, 5_000)).map(([text, more]) => text + 'a'.repeat(more));
  fc.assert(
    fc.property(texts, (text) => {
      expect(utf8Length(text)).toBe(Buffer.byteLength(text));
    }),
  );
  expect(utf8Length('\u0000\u007f')).toBe(2);
  expect(utf8Length('\u0080')).toBe(2);
});

describe('a text cut to characters', () => {
  it.each([
    ['', 0, ''],
    ['abc', 3, 'abc'],
    ['abcd', 3, 'abc...'],
    ['abc', 0, '...'],
    ['😀😀', 2, '😀😀'],
    ['😀😀😀', 2, '😀😀...'],
  ])('%j at %i characters is %j', (text, length, cut) => {
    expect(shortened(text, length)).toBe(cut);
  });
});

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

const known = ['clerk', 'research_assistant', 'writer'];

test.each([
  ['clrek', 'clerk'],
  ['Clerk', 'clerk'],
  ['clerks', 'clerk'],
  ['reserch_asistant', 'research_assistant'],
])('%s was probably meant to be %s', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

test('a name unlike all others gets no suggestion', () => {
  expect(nearestName('poet', known)).toBeUndefined();
  expect(nearestName('x', known)).toBeUndefined();
  expect(nearestName('', known)).toBeUndefined();
  expect(nearestName('clerk', [])).toBeUndefined();
});
