import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { branchesOf, type Sidebar } from '../../site/branches.ts';
import { finishSite } from '../../site/finish.ts';
import { deadLinks } from '../../site/links.ts';
import { guidePages, type Page } from '../../site/pages.ts';
import { factPages } from '../../site/reference/facts.ts';
import { serveSite } from '../../site/serve.ts';
import { canonicalVersion, requireUnbuilt, requireVersion, versionOf, versionsIn, writeVersions } from '../../site/versions.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const target = { base: '/next/', repository: 'https://example.com/longhaul', ref: 'v1' };
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-site-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), text);
}

test('every link and image of docs leads to a file, and every page is in a branch of the sidebar', () => {
  const { pages, problems } = guidePages(root, target);
  expect(problems).toEqual([]);
  const sidebar = JSON.parse(readFileSync(join(root, 'site/sidebar.json'), 'utf8')) as Sidebar;
  expect(branchesOf(sidebar, pages).problems).toEqual([]);
  expect(pages.length).toBeGreaterThan(100);
});

test('the title of a page is its first heading; links lead to pages, to the repository and to images', () => {
  write(
    'docs/README.md',
    '# Start\n\nSee [tools](tools.md#a-tool), [why](decisions/one.md), [code](../src/a.ts) and ![a run](images/run.svg).\n',
  );
  write(
    'docs/tools.md',
    '# Tools and *calls*\n\nA `[tool](x.md)` runs ([one.md](decisions/one.md)). Back to [the top](#tools-and-calls).\n\n```md\n[kept](as-it-is.md)\n```\n',
  );
  write('docs/decisions/one.md', '# One\n\n[Tools](../tools.md#tools-and-calls)\n');
  write('docs/images/run.svg', '<svg/>');
  write('src/a.ts', '');
  const { pages, images, problems } = guidePages(folder, target);
  expect(problems).toEqual([]);
  expect(images).toEqual(['docs/images/run.svg']);
  expect(pages.map(({ slug, title }) => [slug, title])).toEqual([
    ['', 'Start'],
    ['decisions/one', 'One'],
    ['tools', 'Tools and calls'],
  ]);
  expect(pages[0]!.body).toContain(
    '[tools](/next/tools/#a-tool), [why](/next/decisions/one/), [code](https://example.com/longhaul/blob/v1/src/a.ts) and ![a run](/next/images/run.svg)',
  );
  expect(pages[1]!.body).toContain('[Tools](/next/tools/)');
  expect(pages[2]!.body).toBe(
    'A `[tool](x.md)` runs ([One](/next/decisions/one/)). Back to [the top](#_top).\n\n```md\n[kept](as-it-is.md)\n```\n',
  );
});

test('the project installs no package for its site, and none for its first hours', () => {
  const manifest = (path: string): Record<string, Record<string, string>> =>
    JSON.parse(readFileSync(join(root, path), 'utf8')) as Record<string, Record<string, string>>;
  const { dependencies = {}, devDependencies = {} } = manifest('package.json');
  const { packages = {} } = manifest('package-lock.json');
  const ofSite = Object.keys(manifest('site/package.json')['dependencies'] ?? {});
  expect(ofSite).toContain('@astrojs/starlight');
  // Each has a compiler, of another version.
  const shared = [...ofSite, 'verdaccio', 'pnpm'].filter(
    (name) => name !== 'typescript' && (name in dependencies || name in devDependencies || `node_modules/${name}` in packages),
  );
  expect(shared).toEqual([]);
});

test('a link that leads to no file is a problem', () => {
  write('docs/README.md', '# Start\n\n[gone](gone.md)\n');
  expect(guidePages(folder, target).problems).toEqual(['docs/README.md: "gone.md" leads to no file']);
});

test('a page that is in no branch is a problem; the pages of a folder are in the branch that names the folder', () => {
  const page = (slug: string): Page => ({ slug, title: slug, description: '', body: '' });
  const { branches, problems } = branchesOf(
    { branches: [{ name: 'Cookbook', pages: ['cookbook', 'cookbook/*'] }] },
    ['cookbook', 'cookbook/refund', 'lost'].map(page),
  );
  expect(problems).toEqual(['"lost" is in no branch of site/sidebar.json']);
  expect(branches[0]!.groups[0]!.pages.map(({ slug }) => slug)).toEqual(['cookbook', 'cookbook/refund']);
});

test("the index page of an entry of the package is the first page of its group, also if another entry's name is a prefix", () => {
  const page = (slug: string): Page => ({ slug, title: slug, description: '', body: '' });
  const slugs = ['reference/longhaul', 'reference/longhaul/Agent', 'reference/longhaul/client', 'reference/longhaul/client/Run'];
  const { branches } = branchesOf({ branches: [{ name: 'Reference', pages: ['reference/*'] }] }, slugs.map(page));
  expect(branches[0]!.groups.map(({ name, pages }) => [name, pages.map(({ slug }) => slug)])).toEqual([
    ['longhaul', slugs.slice(0, 2)],
    ['longhaul/client', slugs.slice(2)],
  ]);
});

test('a name in the sidebar without a page is a problem; the pages of the reference may be missing together', () => {
  const page = (slug: string): Page => ({ slug, title: slug, description: '', body: '' });
  const sidebar = { branches: [{ name: 'Operate', pages: ['doctor', 'fleet', 'webhooks/*', 'reference', 'reference/*'] }] };
  expect(branchesOf(sidebar, [page('doctor')]).problems).toEqual([
    '"fleet" of the branch "Operate" in site/sidebar.json is no page',
    '"webhooks/*" of the branch "Operate" in site/sidebar.json is no page',
  ]);
  expect(branchesOf(sidebar, ['doctor', 'reference/errors'].map(page)).problems).toContain(
    '"reference" of the branch "Operate" in site/sidebar.json is no page',
  );
});

test('search engines are directed to the page of the newest release that has it', () => {
  for (const [version, slug] of [
    ['0.1', 'tools/'],
    ['0.1', ''],
    ['0.9', 'tools/'],
    ['0.9', ''],
    ['0.10', ''],
    ['next', ''],
    ['next', 'fleet/'],
  ])
    write(`${version}/${slug}index.html`, '');
  expect(versionsIn(folder)).toEqual(['0.10', '0.9', '0.1', 'next']);
  const shownOf = (slug: string, version: string): string => canonicalVersion(slug, { folder, version });
  expect(shownOf('', 'next')).toBe('0.10');
  expect(shownOf('tools', 'next')).toBe('0.9');
  expect(shownOf('fleet', 'next')).toBe('next');
  // The release that is being built has the page.
  expect(shownOf('tools', '0.11')).toBe('0.11');
  expect(shownOf('tools', '0.2')).toBe('0.9');
});

test('a tag of a release has its own site; an untagged commit is "next"', () => {
  expect(versionOf(folder)).toBe('next');
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: folder, encoding: 'utf8' });
  git('init', '--quiet');
  git('commit', '--quiet', '--allow-empty', '--message', 'one');
  git('tag', 'before-0.2');
  expect(versionOf(folder)).toBe('next');
  git('tag', 'v0.2.11');
  expect(versionOf(folder)).toBe('0.2');
  git('commit', '--quiet', '--allow-empty', '--message', 'two');
  expect(versionOf(folder)).toBe('next');
});

test('the site of a release is kept unchanged, and all versions are named', () => {
  write('0.1/index.html', 'as it was');
  write('next/index.html', '');
  expect(() => requireUnbuilt({ folder, version: '0.1' })).toThrow('is kept as it was');
  requireUnbuilt({ folder, version: 'next' });
  requireUnbuilt({ folder, version: '0.2' });
  writeVersions(folder, '/docs/');
  expect(readFileSync(join(folder, 'index.html'), 'utf8')).toContain('<a href="/docs/0.1/">0.1</a>');
  expect(JSON.parse(readFileSync(join(folder, 'versions.json'), 'utf8'))).toEqual(['0.1', 'next']);
  expect(readFileSync(join(folder, '0.1/index.html'), 'utf8')).toBe('as it was');
});

test('the page of limits has the defaults of tools, of trees and of sessions', () => {
  const body = factPages(root, target).find(({ slug }) => slug === 'reference/byte-limits')?.body ?? '';
  for (const row of [
    '| `DEFAULT_POLICY.maxAttempts` | 3 |',
    '| `DEFAULT_POLICY.backoff` | `initialMs`: 1,000, `factor`: 2, `maxMs`: 60,000 |',
    '| `DEFAULT_TREE_LIMITS.perTree` | 200 |',
    '| `DEFAULT_SESSION_LIMITS.turns` | no limit |',
  ])
    expect(body).toContain(row);
});

test('a version that is neither next nor the two numbers of a release is refused', () => {
  for (const version of ['next', '0.1', '12.30']) requireVersion(version);
  for (const version of ['v0.1', '0.1.0', '', '../x']) expect(() => requireVersion(version)).toThrow(`There is no version "${version}"`);
});

test('a path that no file can have is answered with 400, and the next request as before', async () => {
  write('0.1/index.html', 'the page');
  const { url, close } = await serveSite({ folder, base: '/', first: '/0.1/', port: 0 });
  try {
    for (const path of ['/%ff', '//', '/%00']) expect(await statusOf(url, path)).toBe(400);
    expect(await (await fetch(url)).text()).toBe('the page');
  } finally {
    close();
  }
});

/** Unlike `fetch`, this sends the path unchanged. */
function statusOf(url: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ port: new URL(url).port, host: '127.0.0.1', path, agent: false }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

test('dead links, anchors and images of a built site are found, and files of foreign hosts', () => {
  write(
    'index.html',
    '<h2 id="a">A</h2><a href="/next/b/#c">b</a><a href="#a">a</a><a href="https://example.com">out</a><img src="/next/run.svg">',
  );
  write(
    'b/index.html',
    '<h2 id="c">C</h2><a href="../#z">z</a><a href="/next/gone/">gone</a><script src="https://cdn.example.com/a.js"></script><a href="/old/">old</a>',
  );
  write('run.svg', '<svg/>');
  expect(deadLinks(folder, '/next/')).toEqual([
    'b/index.html: "../#z" has an anchor that is not there',
    'b/index.html: "/next/gone/" leads nowhere',
    'b/index.html: "https://cdn.example.com/a.js" is loaded from a foreign host',
    'b/index.html: "/old/" leads out of the site',
  ]);
});

test('scripts and styles of a page become files of the site, because its policy allows no others', () => {
  write(
    'index.html',
    '<head><meta charset="utf-8"><style>p{color:red}</style></head><script type="module">alert(1)</script><p class="x" style="--a:1">a</p>',
  );
  finishSite(folder, '/next/');
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(page).toContain('http-equiv="Content-Security-Policy"');
  expect(page).not.toMatch(/alert|style="|<style/);
  const [, script = ''] = /<script type="module" src="\/next\/(_inline\/\w+\.js)">/.exec(page) ?? [];
  expect(readFileSync(join(folder, script), 'utf8')).toBe('alert(1)');
  expect(readFileSync(join(folder, '_inline/styles.css'), 'utf8')).toContain('{--a:1}');
});
