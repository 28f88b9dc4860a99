import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { quickenSearch } from '../../site/search.ts';

/** The places of Pagefind's code that are changed. */
const PAGEFIND = `const normalizeDiacritics=(text)=>text.normalize("NFD");var word_separators=/ /g;
var build_excerpt=(content)=>{let fragment_words;fragment_words=content.split(word_separators);return fragment_words};
const searched=(term,exact_search)=>{const termPairs=term.split(" ").map((original)=>[original,normalizeDiacritics(original)]).filter(([,normalized])=>normalized.length);return termPairs.map(([original])=>original).join(" ")};`;
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-search-'));
  mkdirSync(join(folder, 'pagefind'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function quickened(source: string): string {
  for (const name of ['pagefind.js', 'pagefind-worker.js']) writeFileSync(join(folder, 'pagefind', name), source);
  quickenSearch(folder);
  const [page, worker] = ['pagefind.js', 'pagefind-worker.js'].map((name) => readFileSync(join(folder, 'pagefind', name), 'utf8'));
  expect(worker).toBe(page);
  return page!;
}

test('the search divides the text of a page once', () => {
  const text = quickened(PAGEFIND);
  const excerpt = runInNewContext(`${text};build_excerpt`) as (content: string) => string[];
  // A mark in the words of one section is not in the words of the next.
  excerpt('a b')[0] = '<mark>a</mark>';
  expect([...excerpt('a b')]).toEqual(['a', 'b']);
  expect([...excerpt('c d')]).toEqual(['c', 'd']);
  expect(text.match(/content\.split\(|text\.split\(/g)).toHaveLength(1);
});

test.each([
  { asked: 'retry a run from a step', searched: 'retry run step' },
  { asked: 'approve a t', searched: 'approve' },
  { asked: 'what is this', searched: 'what is this' },
  { asked: 't', searched: 't' },
  { asked: 'step 3', searched: 'step 3' },
  { asked: 'run is stuck', isExact: true, searched: 'run is stuck' },
])('"$asked" is searched as "$searched"', ({ asked, isExact = false, searched }) => {
  const search = runInNewContext(`${quickened(PAGEFIND)};searched`) as (asked: string, isExact: boolean) => string;
  expect(search(asked, isExact)).toBe(searched);
});

test('a Pagefind that searches in another way fails the build', () => {
  expect(() => quickened(PAGEFIND.replace('term.split', 'words'))).toThrow('"pagefind/pagefind.js" has not one "const termPairs=');
});
