import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const cwd = fileURLToPath(new URL('../..', import.meta.url));

/** Code: nothing in it is a link. */
const CODE = /^(`{3,})[^]*?^\1`*$|`[^`\n]+`/gm;

/** A link or an image, in Markdown, or the source of one in HTML. */
const LINK = /\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g;

/** Returns the links of a page to other pages, files and headings of the project. */
function linksIn(text: string): string[] {
  const links = [...text.replaceAll(CODE, '').matchAll(LINK)].map(([, markdown, html]) => markdown ?? html ?? '');
  return links.filter((link) => !/^[a-z]+:/.test(link));
}

/** Returns the anchors of a page: its headings as GitHub names them, and the ids that it sets. */
function anchorsOf(text: string): Set<string> {
  const names = new Set([...text.matchAll(/\bid="([^"]+)"/g)].map(([, id = '']) => id));
  const withoutFences = text.replaceAll(/^(`{3,})[^]*?^\1`*$/gm, '');
  for (const [, heading = ''] of withoutFences.matchAll(/^#+ (.*)$/gm)) {
    const slug = heading
      .replaceAll(/\]\([^)]*\)/g, '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-');
    let name = slug;
    for (let count = 1; names.has(name); count += 1) name = `${slug}-${count}`;
    names.add(name);
  }
  return names;
}

/** Returns the problem of a link on a page; undefined if it leads somewhere. */
function problemOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : relative(cwd, join(cwd, dirname(page), decodeURIComponent(path)));
  if (!existsSync(join(cwd, target))) return `${page}: ${link} leads to no file`;
  if (anchor === undefined || statSync(join(cwd, target)).isDirectory() || !target.endsWith('.md')) return undefined;
  return anchorsOf(readFileSync(join(cwd, target), 'utf8')).has(anchor) ? undefined : `${page}: ${link} leads to no heading`;
}

const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'bench/*.md'], { cwd }).filter(
  (page) => !page.includes('node_modules'),
);

test('every link between pages leads to a file, and every anchor to a heading', () => {
  const checked = pages.flatMap((page) => linksIn(readFileSync(join(cwd, page), 'utf8')).map((link) => ({ page, link })));
  expect(checked.length).toBeGreaterThan(1_000);
  expect(checked.flatMap(({ page, link }) => problemOf(page, link) ?? [])).toEqual([]);
});

test('a link to a file or a heading that does not exist is found, and a link in code does not count', () => {
  const text =
    '[a](tour.md#a-tour) [b](tour.md#no-tour) [c](none.md) [d](https://x.example) ![e](images/none.svg) `[f](none)`\n```\n[g](none)\n```\n';
  expect(linksIn(text).flatMap((link) => problemOf('docs/x.md', link) ?? [])).toEqual([
    'docs/x.md: tour.md#no-tour leads to no heading',
    'docs/x.md: none.md leads to no file',
    'docs/x.md: images/none.svg leads to no file',
  ]);
});
