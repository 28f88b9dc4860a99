import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Code in a page: a block between fences, or a span. */
const CODE = /```[^\n]*\n([\s\S]*?)```|`([^`\n]+)`/g;

/** The beginning of a path of the project: one of its folders, which no word and no other path precedes. */
const PATH = /(?<![\w./@~-])(?:src|activities|workflows|worker|test|examples|bench|docs|\.ci)\/[\w./~-]*/g;

/** The name of a source file alone, such as `run-loop.ts`. */
const SOURCE_NAME = /^[\w-]+(?:\.[\w-]+)*\.ts$/;

function page(name: string): string {
  return readFileSync(`${root}/${name}`, 'utf8');
}

function codeIn(text: string): string[] {
  return [...text.matchAll(CODE)].map(([, block, span]) => block ?? span ?? '');
}

/** Returns the paths that the code of a page names, without the dots and slashes that end a sentence or a folder. */
function pathsIn(text: string): string[] {
  return codeIn(text).flatMap((code) => [...code.matchAll(PATH)].map(([path]) => path.replace(/[./]+$/, '')));
}

/** True for a path that is elsewhere on purpose: sources of the SDK's core, and files that a build, a benchmark or a reader's project has. */
function isElsewhere(path: string): boolean {
  return path.endsWith('.rs') || path.includes('/.cache/');
}

test('paths are found in spans and in blocks, and paths of other projects are not', () => {
  const text =
    'See `src/a.ts`, `npx vitest run test/b` and\n```sh\nlonghaul dev --agents examples/c.ts\ncat ./src/d.ts /x/src/e.ts\n```\nnot src/f.ts';
  expect(pathsIn(text)).toEqual(['src/a.ts', 'test/b', 'examples/c.ts']);
});

describe('pages for readers', () => {
  // The changelog names files as they were called at the time.
  const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'bench/*.md', 'test/**/*.md'], { cwd: root }).filter(
    (name) => name !== 'CHANGELOG.md' && !name.includes('node_modules'),
  );

  test('name files and folders that exist', () => {
    expect(pages).toEqual(expect.arrayContaining(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'README.md', 'docs/README.md']));
    const named = pages.flatMap((name) => pathsIn(page(name)).map((path) => ({ page: name, path })));
    expect(named.length).toBeGreaterThan(200);
    expect(named.filter(({ path }) => !isElsewhere(path) && !existsSync(`${root}/${path}`))).toEqual([]);
  });

  test('about the code name by their names alone only source files that exist', () => {
    const known = new Set(
      ['src', 'activities', 'workflows', 'worker', 'test'].flatMap((folder) =>
        readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' }).map((path) => posix.basename(path)),
      ),
    );
    expect(known).toContain('run-loop.ts');
    const aboutCode = pages.filter((name) => ['ARCHITECTURE.md', 'CONTRIBUTING.md'].includes(name) || name.startsWith('docs/decisions/'));
    const named = aboutCode.flatMap((name) => codeIn(page(name)).map((code) => ({ page: name, code })));
    const names = named.filter(({ code }) => SOURCE_NAME.test(code));
    expect(names.filter(({ code }) => !known.has(code) && !existsSync(`${root}/${code}`))).toEqual([]);
  });
});
