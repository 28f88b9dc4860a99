import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');

/** A link or an image of Markdown that names a file, without its anchor. */
const LINK = /\]\((?![a-z]+:|#)([^)#\s]+)/g;

/** 1.1 × 4.9 MB. */
const MOST_BYTES = 5_390_000;

/** What the guide may take of it. */
const MOST_OF_DOCS = 3_000_000;

let files: string[] = [];
let size = 0;

beforeAll(async () => {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  const [packed] = z
    .tuple([z.object({ size: z.number(), files: z.array(z.object({ path: z.string() })) })])
    .parse(JSON.parse(stdout.slice(stdout.indexOf('['))));
  files = packed.files.map(({ path }) => path);
  size = packed.size;
}, 60_000);

test('the package has its docs, and every link in them leads to a file of it', () => {
  const pages = files.filter((path) => path.endsWith('.md'));
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/cli.md', 'docs/decisions/README.md']));
  const has = (path: string): boolean => files.includes(path) || files.some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`));
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(LINK)]
      .map(([, link = '']) => posix.join(posix.dirname(page), link))
      .filter((target) => !has(target))
      .map((target) => `${page}: ${target}`),
  );
  expect(dead).toEqual([]);
});

test('a position in its code is found in the sources, by source maps that do not repeat the sources', () => {
  const maps = files.filter((path) => path.endsWith('.js.map'));
  expect(maps.length).toBeGreaterThan(100);
  const others = maps.filter((path) => {
    const { sources, sourcesContent, mappings } = JSON.parse(read(path)) as {
      sources: string[];
      sourcesContent?: unknown;
      mappings: string;
    };
    const [source = '', ...more] = sources.map((one) => posix.join(posix.dirname(path), one));
    // Maps that an earlier build left behind, of sources that no longer exist, do not count.
    if (!existsSync(posix.join(root, source))) return false;
    // A module of types alone has no position.
    const isEmpty = mappings === '' && !/^export \{\};\s*(?:\/\/|$)/.test(read(path.replace(/\.map$/, '')));
    return more.length > 0 || `dist/${source}` !== path.replace(/\.js\.map$/, '.ts') || sourcesContent !== undefined || isEmpty;
  });
  expect(others).toEqual([]);
});

test('the package has the bundle of its workflows, and its sources', () => {
  expect(files).toEqual(expect.arrayContaining(['dist/worker/workflow-bundle.js', 'dist/worker/workflow-bundle.json']));
});

test('the package has at most 5.39 MB: a tenth more than before it had a site, templates and a doctor', () => {
  expect(size).toBeLessThanOrEqual(MOST_BYTES);
});

test('the guide takes at most 3 MB of it', () => {
  const guide = files.filter((path) => path.startsWith('docs/'));
  expect(guide.length).toBeGreaterThan(100);
  // Each file by itself: packed together they are smaller.
  expect(guide.reduce((sum, path) => sum + gzipSync(readFileSync(posix.join(root, path))).length, 0)).toBeLessThanOrEqual(MOST_OF_DOCS);
});
