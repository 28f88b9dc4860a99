import { expect, test } from 'vitest';
import { beginning, codeName, hasHidden, mixedScripts, pieces } from '../../studio/marks.ts';

/** Returns a text as the page shows it. */
function shown(text: string, options?: { oneLine?: boolean }): string {
  return pieces(text, options)
    .map((piece) => (typeof piece === 'string' ? piece : `⟨${codeName(piece.code)}⟩`))
    .join('');
}

test.each([
  ['report\u202Egnp.exe', 'report⟨U+202E⟩gnp.exe'],
  ['a\u200Bb', 'a⟨U+200B⟩b'],
  ['a\u2066b\u2069', 'a⟨U+2066⟩b⟨U+2069⟩'],
  ['bell\u0007', 'bell⟨U+0007⟩'],
  ['escape \u001B[31m', 'escape ⟨U+001B⟩[31m'],
  ['\uFEFFbom', '⟨U+FEFF⟩bom'],
  ['soft\u00ADhyphen', 'soft⟨U+00AD⟩hyphen'],
  ['tag\u{E0041}', 'tag⟨U+E0041⟩'],
  ['filler\u3164', 'filler⟨U+3164⟩'],
  ['blank\u2800', 'blank⟨U+2800⟩'],
  ['variation\uFE01', 'variation⟨U+FE01⟩'],
  ['half \uD800', 'half ⟨U+D800⟩'],
  ['line\u2028separator', 'line⟨U+2028⟩separator'],
  ['only\rreturn', 'only⟨U+000D⟩return'],
  ['joined a\u200Db', 'joined a⟨U+200D⟩b'],
  ['own\uE000use', 'own⟨U+E000⟩use'],
])('%j is shown as %s', (text, as) => {
  expect(shown(text)).toBe(as);
  expect(hasHidden(text)).toBe(true);
});

test.each(['plain', 'ä ß 漢字 العربية', 'two\nlines\tand a tab\r\n', '👩‍👩‍👧 ❤️ 👍🏽 1️⃣'])('%j hides nothing, and is shown unchanged', (text) => {
  expect(shown(text)).toBe(text);
  expect(hasHidden(text)).toBe(false);
});

test('on one line, what would begin another line is a mark', () => {
  expect(shown('a\nb\r\nc', { oneLine: true })).toBe('a⟨U+000A⟩b⟨U+000D⟩⟨U+000A⟩c');
});

test('a name that mixes scripts whose letters look alike is found, and others are not', () => {
  expect(mixedScripts('p\u0430ypal')).toEqual(['Latin', 'Cyrillic']);
  expect(mixedScripts('refund_\u03BF')).toEqual(['Latin', 'Greek']);
  expect(mixedScripts('\uFF52efund')).toEqual(['Latin', 'look-alike forms']);
  for (const name of ['refund', 'возврат', '返金_tool', 'naïve', 'e\u0301']) expect(mixedScripts(name)).toEqual([]);
});

test('a text is never cut in the middle of a character', () => {
  expect(beginning('a😀b', 2)).toBe('a');
  expect(beginning('a😀b', 3)).toBe('a😀');
  expect(beginning('a\uD800', 2)).toBe('a\uD800');
});
