import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memberOf, UsageError } from '../core/domain/errors.ts';
import { plainText, sectionsOf } from './markdown.ts';

/** A matching page, and its best matching section. */
export interface FoundPage {
  page: GuidePage;
  section: { title: string; id: string; text: string };
  score: number;
}

/** A section of a page: from a heading to the next one. */
interface Section {
  page: GuidePage;
  title: string;
  id: string;
  text: string;
  /** How often it has each word: once for each time in its text, and more for its heading. */
  words: Map<string, number>;
  length: number;
}

/** Words that say nothing about a page. */
const COMMON = new Set(
  'a an and are as at be by can do does for from how i if in into is it its me my of on or so that the their this to what when where which who why will with without you your'.split(
    ' ',
  ),
);

const HEADING_WEIGHT = 6;
const TITLE_WEIGHT = 10;
/** Lower weights, for decisions: they explain why something is the way it is, while most searches ask how to do it. */
const LESS: readonly [RegExp, number][] = [
  [/^decisions\//, 0.4],
  [/^upstream\//, 0.4],
];

/** The usual constants of BM25. */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.5;

/** Finds pages by words, best match first: BM25 over their sections, with higher weights for headings and titles. */
export class GuideIndex {
  readonly #sections: readonly Section[];
  readonly #frequency = new Map<string, number>();
  readonly #averageLength: number;

  constructor(pages: readonly GuidePage[]) {
    this.#sections = pages.flatMap(sectionsIn);
    for (const { words } of this.#sections)
      for (const word of words.keys()) this.#frequency.set(word, (this.#frequency.get(word) ?? 0) + 1);
    this.#averageLength = this.#sections.reduce((sum, { length }) => sum + length, 0) / Math.max(1, this.#sections.length);
  }

  /** Returns the pages that have one of the words, each with its best section. Empty for a text with only common words. */
  find(query: string): FoundPage[] {
    const wanted = [...new Set(wordsOf(query))];
    const best = new Map<GuidePage, FoundPage>();
    for (const section of this.#sections) {
      const score = this.#score(section, wanted) * (LESS.find(([path]) => path.test(section.page.file))?.[1] ?? 1);
      if (score === 0) continue;
      if (score > (best.get(section.page)?.score ?? 0)) best.set(section.page, { page: section.page, section, score });
    }
    return [...best.values()].toSorted((one, other) => other.score - one.score || (one.page.file < other.page.file ? -1 : 1));
  }

  #score({ words, length }: Section, wanted: readonly string[]): number {
    let [score, met] = [0, 0];
    for (const word of wanted) {
      const count = words.get(word) ?? 0;
      if (count === 0) continue;
      met += 1;
      const rarity = Math.log(1 + this.#sections.length / (this.#frequency.get(word) ?? 1));
      const norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * (length / this.#averageLength));
      score += (rarity * count * (SATURATION + 1)) / (count + norm);
    }
    // A section with all the words ranks before one with many occurrences of a rare word.
    return met === 0 ? 0 : score * (met / wanted.length);
  }
}

function sectionsIn(page: GuidePage): Section[] {
  // Other pages refer to a page by its file name.
  const ofPage = wordsOf(`${page.title} ${page.file.replace(/\.md$/, '').replaceAll(/[/-]/g, ' ')}`);
  return sectionsOf(page.text).map(({ text: title, id, level, markdown }) => {
    const text = plainText(markdown);
    const ofText = wordsOf(text);
    const words = new Map<string, number>();
    const add = (list: readonly string[], weight: number): void => {
      for (const word of list) words.set(word, (words.get(word) ?? 0) + weight);
    };
    add(ofText, 1);
    add(wordsOf(title), level === 1 ? TITLE_WEIGHT : HEADING_WEIGHT);
    add(ofPage, HEADING_WEIGHT / 2);
    return { page, title, id, text, words, length: ofText.length };
  });
}

/** Returns the words of a text without common ones, each without plural and verb endings: `toolCalls` is also `tool` and `call`. */
export function wordsOf(text: string): string[] {
  return (text.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((word) => {
    const parts = word.split(/_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u).filter((part) => part !== '');
    return [...new Set([word, ...parts])].map((one) => stemOf(one.toLowerCase())).filter((one) => one.length > 1 && !COMMON.has(one));
  });
}

function stemOf(word: string): string {
  if (word.length < 4) return word;
  return word
    .replace(/ies$/, 'y')
    .replace(/(?<=ss|x|ch|sh)es$/, '')
    .replace(/(?<=[^s])s$/, '')
    .replace(/(?<=\w{3})(?:ing|ed)$/, '')
    .replace(/(?<=\w{4})al$/, '')
    .replace(/(?<=\w{3})e$/, '');
}

/** A page of the guide, as Markdown. */
export interface GuidePage {
  /** Its file in the folder of the guide: `concepts/runs.md`. */
  file: string;
  /** Its path in the site of the guide: `concepts/runs/`. Empty for the first page. */
  path: string;
  title: string;
  text: string;
}

/** The folder of the guide: `docs` next to `src` in a checkout, and next to `dist` in the package. */
export const GUIDE_FOLDER = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../docs/' : '../../../docs/', import.meta.url));

/** Reads all pages of the guide, in file order. Throws a UsageError if there are none. */
export async function guidePages(folder = GUIDE_FOLDER): Promise<GuidePage[]> {
  const found = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    if (memberOf(error, 'code') === 'ENOENT') return [];
    throw error;
  });
  const files = found.map((file) => file.replaceAll('\\', '/'));
  const pages = files.filter((file) => file.endsWith('.md')).toSorted();
  if (pages.length === 0) throw new UsageError('This package has no guide: install it anew');
  return Promise.all(
    pages.map(async (file) => {
      const text = await readFile(join(folder, file), 'utf8');
      return { file, path: pathOf(file), title: plainText(/^# (.+)$/m.exec(text)?.[1] ?? file), text };
    }),
  );
}

/** Returns the path of a page in the site of the guide. */
export function pathOf(file: string): string {
  const path = file.replace(/(?:^|\/)README\.md$/, '').replace(/\.md$/, '');
  return path === '' ? '' : `${path}/`;
}
