import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import type { Sidebar } from '../../../site/branches.ts';
import { POLICY } from '../../../site/finish.ts';
import { guidePages } from '../../../src/guide/find-pages.ts';
import { renderMarkdown } from '../../../src/guide/markdown.ts';
import { packageEntries } from '../../docs/declarations.ts';
import { commentOf, membersOf } from '../../docs/members.ts';
import { matrixSample } from '../../matrix-sample.ts';
import { LEAST_ANSWERED, QUESTIONS } from '../questions.ts';
import { CHROMIUM, digestsOf, missingSitePackages, site } from './built-site.ts';
import { axeProblems, search, SiteBrowser } from './site-browser.ts';

const missing = await missingSitePackages();
const skipped = (reason: string): string => (reason === '' ? '' : ` (skipped: ${reason})`);
const BUILD_MS = 300_000;

describe.skipIf(missing !== '')(`the built site${skipped(missing)}`, () => {
  let folder = '';
  let pages: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longhaul-site-'));
    // Fails for a dead link.
    await site('check', '--out', join(folder, 'whole'));
    pages = globSync('**/*.html', { cwd: join(folder, 'whole/next') }).toSorted();
  }, BUILD_MS);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  const textOf = (page: string): string => readFileSync(join(folder, 'whole/next', page), 'utf8');

  test(
    'two builds are equal byte for byte',
    async () => {
      await site('build', '--out', join(folder, 'again'));
      expect(digestsOf(join(folder, 'again/next'))).toEqual(digestsOf(join(folder, 'whole/next')));
    },
    BUILD_MS,
  );

  test('it has a page for each page of the guide and for hundreds of exports, each as Markdown, too', () => {
    expect(pages.length).toBeGreaterThan(600);
    const without = pages.filter((page) => {
      const markdown = page === 'index.html' ? 'index.md' : `${page.replace(/\/index\.html$/, '')}.md`;
      return (
        page !== '404.html' && !(existsSync(join(folder, 'whole/next', markdown)) && textOf(page).includes(`href="/next/${markdown}"`))
      );
    });
    expect(without).toEqual([]);
  });

  test('each export of each entry has a page with its description, its import, its first version, and its source', () => {
    const exported = packageEntries().flatMap(({ name: entry, exports }) => [...exports.keys()].map((name) => ({ entry, name })));
    expect(exported.length).toBeGreaterThan(600);
    const lacking = exported.filter(({ entry, name }) => {
      const page = `reference/${entry}/${name}`;
      if (!existsSync(join(folder, 'whole/next', page, 'index.html'))) return true;
      const text = textOf(`${page}.md`);
      const [, summary = ''] = /^# .+\n\n(?!```|`import )(.+)/.exec(text) ?? [];
      const facts = `\`import { ${name} } from '${entry}'\``;
      const [last = ''] = text.trimEnd().split('\n').slice(-1);
      const isWhole =
        last.startsWith(`${facts} · since `) &&
        / · since (?:next|\d+\.\d+\.\d+) · \[source\]\(https:\/\/\S+\/blob\/\S+\.ts(?:#L\d+)?\)$/.test(last);
      return summary === '' || !isWhole;
    });
    expect(lacking).toEqual([]);
  });

  test('the page of an export has the words, the example, the errors and the defaults of members that its comments have', () => {
    const cellsOf = (row: string): string[] => row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const lacking = packageEntries().flatMap(({ name: entry, exports }) =>
      [...exports].flatMap(([name, declaration]) => {
        const text = textOf(`reference/${entry}/${name}.md`);
        // The page of another entry has them.
        if (text.includes('exported here as well')) return [];
        const comment = commentOf(declaration) ?? '';
        const [summary = ''] = comment.split('@example');
        const defaults = membersOf(declaration).filter((member) => /\bDefault: /.test(member.comment ?? ''));
        const rows = text.split('\n').filter((line) => line.startsWith('| `'));
        const shown = rows.flatMap((row) => (cellsOf(row)[3] === '' ? [] : [cellsOf(row)[1]?.replaceAll(/[`?]/g, '')]));
        const begins = summary.split(/\s+/).slice(0, 4).join(' ');
        return [
          ...(/[`{]/.test(begins) || text.replaceAll(/\s+/g, ' ').includes(begins) ? [] : ['words']),
          ...(comment.includes('@example') && !text.includes('## Example') ? ['example'] : []),
          ...(/\b(?:Throws|Rejects)\b/.test(summary) && !text.includes('## Errors') ? ['errors'] : []),
          // What a method does by default is in its text.
          ...defaults
            .filter(({ name: one }) => !shown.includes(one) && !text.includes(`### ${one}\n`))
            .map((member) => `default of ${member.name}`),
        ].map((what) => `${entry} ${name}: ${what}`);
      }),
    );
    expect(lacking).toEqual([]);
  });

  test('each page has the links of its own branch, and a link to the beginning of each other branch', () => {
    const { branches } = JSON.parse(readFileSync('site/sidebar.json', 'utf8')) as Sidebar;
    const branchOf = (slug: string): string | undefined => {
      const name = slug === '' ? 'README' : slug;
      const folders = name.split('/').map((_, index, parts) => `${parts.slice(0, index).join('/')}/*`);
      const holds = (wanted: readonly string[]): string | undefined =>
        branches.find((one) => one.pages.some((page) => wanted.includes(page)))?.name;
      return holds([name]) ?? holds(folders);
    };
    const wrong = pages
      .filter((page) => page !== '404.html')
      .flatMap((page) => {
        const slug = page.replace(/\/?index\.html$/, '');
        const [, navigation = ''] = /<nav [^>]*aria-label="Main"[^>]*>([^]*?)<\/nav>/.exec(textOf(page)) ?? [];
        const links = [...navigation.matchAll(/ href="\/next\/([^"]*?)\/?"/g)].map(([, link = '']) => link);
        const own = links.filter((link) => branchOf(link) === branchOf(slug));
        return own.includes(slug) && links.length - own.length < branches.length ? [] : [{ page, others: links.length - own.length }];
      });
    expect(wrong).toEqual([]);
  });

  test('each page has the policy that lets it load from its own host alone, and its address for search engines', () => {
    const without = pages.filter((page) => {
      const text = textOf(page);
      const canonical = [...text.matchAll(/<link rel="canonical" href="https:\/\/[^"]+\/next\/[^"]*"/g)].length;
      return !text.includes(`<meta http-equiv="Content-Security-Policy" content="${POLICY}">`) || (page !== '404.html' && canonical !== 1);
    });
    expect(POLICY).toMatch(/^default-src 'self';/);
    expect(without).toEqual([]);
  });

  test('llms.txt names pages of each branch, which are there as Markdown', () => {
    const text = textOf('llms.txt');
    const links = [...text.matchAll(/\]\((\/next\/[^)]+)\)/g)].map(([, link = '']) => link);
    expect(text.match(/^## .+$/gm)).toEqual(
      ['Start', 'Concepts', 'Guides', 'Cookbook', 'Operate', 'Migrate', 'Reference', 'Decisions'].map((name) => `## ${name}`),
    );
    expect(links.length).toBeGreaterThan(600);
    expect(links.filter((link) => !existsSync(join(folder, 'whole', link)))).toEqual([]);
  });

  test('no page, as sent and with its styles, is larger than 60 kB', () => {
    const sizes = pages.map((page) => {
      const text = textOf(page);
      const styles = [...text.matchAll(/<link rel="stylesheet" href="\/next\/([^"]+)"/g)].map(([, file = '']) =>
        readFileSync(join(folder, 'whole/next', file)),
      );
      return { page, bytes: [Buffer.from(text), ...styles].reduce((sum, one) => sum + gzipSync(one).length, 0) };
    });
    expect(sizes.filter(({ bytes }) => bytes > 60_000)).toEqual([]);
  });

  test("the anchors of its pages are GitHub's, which pages use to link to each other, and the anchors of the guide in the package", async () => {
    const lost = (await guidePages()).flatMap(({ file, path, text }) => {
      const built = textOf(`${path}index.html`);
      const { headings } = renderMarkdown(text, (link) => link);
      return headings.flatMap(({ id, level }) => (level === 1 || built.includes(` id="${id}"`) ? [] : [`${file}#${id}`]));
    });
    expect(lost).toEqual([]);
  });

  test(
    'a release is built at its own path below any base, is kept as it was, and has the pages that search engines show',
    async () => {
      const versions = join(folder, 'versions');
      const below = ['--base', '/docs/longhaul/', '--out', versions, '--without-reference'];
      expect((await site('check', '--version', '0.1', ...below)).printed).toContain('check passed');
      const before = digestsOf(join(versions, '0.1'));
      await expect(site('build', '--version', '0.1', ...below)).rejects.toThrow('is kept as it was');
      expect((await site('check', ...below)).printed).toContain('check passed');
      expect(digestsOf(join(versions, '0.1'))).toEqual(before);
      const next = readFileSync(join(versions, 'next/tools/index.html'), 'utf8');
      expect(next).toMatch(/<link rel="canonical" href="https:\/\/[^"]+\/docs\/longhaul\/0\.1\/tools\/"/);
      expect(readFileSync(join(versions, '0.1/tools/index.html'), 'utf8')).toContain('/docs/longhaul/0.1/tools/"');
      expect(readFileSync(join(versions, 'index.html'), 'utf8')).toContain('<a href="/docs/longhaul/0.1/">');
      expect(JSON.parse(readFileSync(join(versions, 'versions.json'), 'utf8'))).toEqual(['0.1', 'next']);
      // The search finds pages of the version that it is used in.
      if (CHROMIUM === undefined) return;
      await using browser = await SiteBrowser.open({ folder: versions, base: '/docs/longhaul/', first: '/docs/longhaul/0.1/' });
      const page = await browser.page();
      await page.goto(browser.url);
      const found = (await search(page, 'refund with approval')).map((link) => new URL(link, browser.url).pathname);
      expect(found[0]).toBe('/docs/longhaul/0.1/cookbook/refund-with-approval/');
      expect(found.filter((path) => !path.startsWith('/docs/longhaul/0.1/'))).toEqual([]);
      expect(browser.problems).toEqual([]);
    },
    2 * BUILD_MS,
  );

  describe.skipIf(CHROMIUM === undefined)(
    `in Chromium without a network${skipped(CHROMIUM === undefined ? 'chromium is not installed' : '')}`,
    () => {
      let browser: SiteBrowser;

      beforeAll(async () => {
        browser = await SiteBrowser.open({ folder: join(folder, 'whole'), base: '/', first: '/next/' });
      });

      afterAll(() => browser?.[Symbol.asyncDispose]());

      test('of 30 questions, at least 27 have their page among the first three results', async () => {
        const page = await browser.page();
        await page.goto(browser.url);
        const missed: string[] = [];
        for (const { ask, page: expected } of QUESTIONS) {
          const first = (await search(page, ask)).map((link) =>
            new URL(link, browser.url).pathname.replace('/next/', '').replace(/\/$/, ''),
          );
          if (!first.slice(0, 3).includes(expected)) missed.push(`${ask}: ${first.slice(0, 3).join(', ')}, not ${expected}`);
        }
        expect(missed.slice(QUESTIONS.length - LEAST_ANSWERED)).toEqual([]);
      }, 120_000);

      test('no page has an error in its console, breaks its policy, or asks another host', async () => {
        // Pages of exports are alike: a commit looks at some of them.
        const [alike, others] = [
          pages.filter((path) => path.startsWith('reference/longhaul')),
          pages.filter((path) => !path.startsWith('reference/longhaul')),
        ];
        const left = [...others, ...matrixSample(alike, { every: 20 })];
        const tabs = await Promise.all([browser.page(), browser.page(), browser.page()]);
        const look = async (tab: Page): Promise<void> => {
          for (let path = left.pop(); path !== undefined; path = left.pop())
            await tab.goto(`${browser.url}${path.replace(/index\.html$/, '')}`);
        };
        await Promise.all(tabs.map(look));
        expect(browser.problems).toEqual([]);
        // Some hundred pages, which take seconds each on a machine that does other work.
      }, 900_000);

      /** One page of each kind. */
      const KINDS = [
        '',
        'ten-minutes/',
        'concepts/runs/',
        'tools/',
        'options/',
        'cookbook/refund-with-approval/',
        'migrate/langgraph/',
        'errors/',
        'decisions/',
        'reference/',
        'reference/commands/start/',
        'reference/longhaul/defineAgent/',
      ];

      test('every kind of page is read, and left for others, without JavaScript', async () => {
        const page = await browser.page({ javaScriptEnabled: false });
        for (const path of KINDS) {
          await page.goto(`${browser.url}${path}`);
          expect((await page.locator('main').innerText()).length).toBeGreaterThan(200);
          await page.getByRole('link', { name: 'Decisions' }).first().click();
          expect(page.url()).toContain('/next/decisions/');
        }
      });

      test.each(KINDS)('the page "%s" is accessible in light and dark, and fits 390 pixels', async (path) => {
        for (const colorScheme of ['light', 'dark'] as const) {
          const page = await browser.page({ colorScheme, viewport: { width: 390, height: 844 } });
          await page.goto(`${browser.url}${path}`);
          expect(await axeProblems(page)).toEqual([]);
          expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
          await page.context().close();
        }
      });
    },
  );
});
