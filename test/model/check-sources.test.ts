import { expect, test } from 'vitest';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { checkSources, withoutPlaces } from '../../src/model/check-output.ts';

const TEXT = 'The Moon is far.';
const PAGE = 'https://moon.test/';

test.each<[what: string, given: unknown, recorded: unknown[]]>([
  ['a page', [{ url: PAGE, title: ' The\nMoon ', other: 1 }], [{ url: PAGE, title: 'The Moon' }]],
  [
    'a document',
    [{ title: 'Notes', filename: 'notes.pdf', mediaType: 'application/pdf' }],
    [{ title: 'Notes', mediaType: 'application/pdf', filename: 'notes.pdf' }],
  ],
  ['a place in the text', [{ url: PAGE, start: 4, end: 8 }], [{ url: PAGE, start: 4, end: 8 }]],
  ['a place after the text', [{ url: PAGE, start: 4, end: 80 }], [{ url: PAGE }]],
  ['an invalid place', [{ url: PAGE, start: 8, end: 4 }], [{ url: PAGE }]],
  ['a source twice', [{ url: PAGE }, { url: PAGE }], [{ url: PAGE }]],
  ['a page that was found and cited', [{ url: PAGE }, { url: PAGE, start: 0, end: 3 }], [{ url: PAGE, start: 0, end: 3 }]],
  ['a URL that a page could run', [{ url: 'javascript:alert(1)', title: 'A' }, { url: 'data:text/html,x' }], [{ title: 'A' }]],
  ['a URL that is too long', [{ url: `${PAGE}${'x'.repeat(2_000)}` }, { url: PAGE }], [{ url: PAGE }]],
  ['what names nothing', [{}, { title: ' ' }, { url: 7 }, null, 'x'], []],
  ['no list', { url: PAGE }, []],
])('of the sources of an answer, %s is recorded as far as it can be used', (_, given, recorded) => {
  expect(checkSources(given, TEXT)).toEqual(recorded);
});

test('at most 50 sources are recorded, of 2 kB each', () => {
  const given = Array.from({ length: 60 }, (_, index) => ({ url: `${PAGE}${index}/${'y'.repeat(1_000)}`, title: 'é'.repeat(5_000) }));
  const sources = checkSources(given, TEXT);
  expect(sources).toHaveLength(50);
  expect(sources.every((source) => jsonBytes(source) <= 2_000)).toBe(true);
});

test('sources lose their places if the text has changed', () => {
  expect(withoutPlaces([{ url: PAGE, start: 0, end: 3 }, 'x'])).toEqual([{ url: PAGE }]);
});
