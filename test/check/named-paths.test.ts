import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A path of the project in the text of a page: it begins with one of the project's folders. */
const PATH = /`((?:src|activities|workflows|worker|test|examples|bench|docs)\/[\w./-]*)`/g;

test('every file and folder that a page names exists', () => {
  const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'bench/*.md', 'test/**/*.md'], { cwd: root });
  expect(pages).toContain('ARCHITECTURE.md');
  // The changelog names files as they were called at the time.
  const named = pages
    .filter((page) => page !== 'CHANGELOG.md')
    .flatMap((page) => [...readFileSync(`${root}/${page}`, 'utf8').matchAll(PATH)].map(([, path = '']) => ({ page, path })));
  expect(named.length).toBeGreaterThan(50);
  // Sources of the SDK's core, and files that a benchmark writes.
  const isElsewhere = (path: string): boolean => path.endsWith('.rs') || path.includes('/.cache/');
  expect(named.filter(({ path }) => !isElsewhere(path) && !existsSync(`${root}/${path}`))).toEqual([]);
});
