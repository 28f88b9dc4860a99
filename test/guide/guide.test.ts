import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { GuideIndex, guidePages, wordsOf } from '../../src/guide/find-pages.ts';
import { GUIDE_POLICY, GuideSite } from '../../src/guide/guide-site.ts';
import { renderMarkdown, sectionsOf } from '../../src/guide/markdown.ts';
import { LEAST_ANSWERED, QUESTIONS } from '../site/questions.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let guide: GuideSite;

beforeAll(async () => {
  guide = await GuideSite.open({ version: '1.2.3' });
});

async function get(path: string): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await guide.answer(new Request(`http://127.0.0.1${path}`));
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const html = (markdown: string): string => renderMarkdown(markdown, (link) => link).html;

test.each([
  ['a paragraph\nof two lines', '<p>a paragraph\nof two lines</p>'],
  [
    'a `tag <b> & "c"` and **bold *and* more**',
    '<p>a <code>tag &lt;b&gt; &amp; &quot;c&quot;</code> and <strong>bold <em>and</em> more</strong></p>',
  ],
  [
    '[`tool`](tools.md#a) ![a run](images/run.svg)',
    '<p><a href="tools.md#a"><code>tool</code></a> <img src="images/run.svg" alt="a run" loading="lazy"></p>',
  ],
  ['2 * 3 * 4 and snake_case_name and \\*this\\*', '<p>2 * 3 * 4 and snake_case_name and *this*</p>'],
  ['- one\n- two\n  - inner\n- three', '<ul>\n<li>one</li>\n<li>two\n<ul>\n<li>inner</li>\n</ul></li>\n<li>three</li>\n</ul>'],
  ['3. three\n4. four', '<ol start="3">\n<li>three</li>\n<li>four</li>\n</ol>'],
  ['- loose\n\n- items', '<ul>\n<li><p>loose</p></li>\n<li><p>items</p></li>\n</ul>'],
  [
    '- code:\n  ```ts\n  a\n    b\n  ```\n- after',
    '<ul>\n<li>code:\n<pre tabindex="0"><code class="language-ts">a\n  b\n</code></pre></li>\n<li>after</li>\n</ul>',
  ],
  ['> said\n> so', '<blockquote>\n<p>said\nso</p>\n</blockquote>'],
  ['<!-- table: x -->\nshown\n<!-- end\nof it -->\n', '<p>shown</p>'],
  ['```text\n# no heading\n<b>\n```', '<pre tabindex="0"><code class="language-text"># no heading\n&lt;b&gt;\n</code></pre>'],
  ['a <script>alert(1)</script>', '<p>a &lt;script&gt;alert(1)&lt;/script&gt;</p>'],
  ['before\n\n---\n\nafter', '<p>before</p>\n<hr>\n<p>after</p>'],
])('%j becomes %j', (markdown, expected) => {
  expect(html(markdown)).toBe(expected);
});

test('a bar in a cell of a table does not end the cell, also in code', () => {
  expect(html("| a | b |\n| --- | --- |\n| `'x' \\| 'y'` | c |")).toContain(
    '<tr><td><code>&#39;x&#39; | &#39;y&#39;</code></td><td>c</td></tr>',
  );
});

test('a package without the folder of the guide is refused in words', async () => {
  await expect(GuideSite.open({ folder: '/nowhere/docs', version: '1.2.3' })).rejects.toThrow('This package has no guide: install it anew');
});

test('headings that are equal have anchors that differ, as on GitHub', () => {
  const { headings } = renderMarkdown('# `longhaul docs [words...]`\n\n## A *b*\n\n## A *b*\n', (link) => link);
  expect(headings.map(({ id }) => id)).toEqual(['longhaul-docs-words', 'a-b', 'a-b-1']);
});

test('the sections of a page are its headings with the text below them; a line in code is not a heading', () => {
  const text = '# A\n\none\n\n```sh\n# two\n```\n\n## B\n\nthree\n';
  expect(sectionsOf(text)).toEqual([
    { level: 1, id: 'a', text: 'A', markdown: '\none\n\n```sh\n# two\n```\n' },
    { level: 2, id: 'b', text: 'B', markdown: '\nthree\n' },
  ]);
  for (const { text: page } of guide.pages) {
    const { headings } = renderMarkdown(page, (link) => link);
    expect(sectionsOf(page).map(({ markdown: _, ...heading }) => heading)).toEqual(headings);
  }
});

test('no page of the guide has marks that are not understood', () => {
  const left = guide.pages.flatMap(({ file, text }) => {
    const shown = html(text)
      .replaceAll(/<pre[^]*?<\/pre>|<code>[^]*?<\/code>/g, '')
      .replaceAll(/<[^>]+>/g, '');
    return [...shown.matchAll(/.*(?:\*\*|`|\]\(|^#{1,6} |^\| |^ *- |<!--|~~~|\uE000).*/gm)].map(([line]) => `${file}: ${line}`);
  });
  expect(left).toEqual([]);
});

test('every link of every page leads to a page, a heading, an image, a file of the repository or another host', async () => {
  const pages = new Map<string, string>();
  for (const { path } of guide.pages) pages.set(`/${path}`, (await get(`/${path}`)).text);
  const problems: string[] = [];
  for (const [path, text] of pages) {
    for (const [, name = '', link = ''] of text.matchAll(/\b(href|src)="([^"]*)"/g)) {
      const [target = '', anchor] = link.split('#');
      const page = pages.get(target === '' ? path : target);
      const file = /^https:\/\/github\.com\/longhaul-agents\/longhaul\/blob\/v1\.2\.3\/([^#]*)/.exec(link)?.[1];
      if (file !== undefined) {
        if (!existsSync(`${root}/${decodeURIComponent(file)}`)) problems.push(`${path}: ${link} is no file`);
      } else if (/^(?:https?:|mailto:|data:)/.test(link) || ['/style.css'].includes(link)) continue;
      else if (name === 'src' || /\.(?:svg|png)$/.test(target)) {
        if ((await get(link)).status !== 200) problems.push(`${path}: ${link} is no image`);
      } else if (page === undefined) problems.push(`${path}: ${link} is no page`);
      else if (anchor !== undefined && !page.includes(` id="${anchor}"`)) problems.push(`${path}: ${link} has an anchor that is not there`);
    }
  }
  expect(problems).toEqual([]);
  expect(pages.size).toBeGreaterThan(100);
});

test('a page is shown with its title and its sections, as HTML and as Markdown', async () => {
  const page = await get('/tools/');
  expect(page.status).toBe(200);
  expect(page.text).toContain('<title>Tools | Longhaul 1.2.3</title>');
  expect(page.text).toContain('aria-label="On this page"');
  expect(page.headers.get('content-security-policy')).toBe(GUIDE_POLICY);
  const markdown = await get('/tools.md');
  expect(markdown.text).toMatch(/^# Tools\n/);
  expect(markdown.headers.get('content-type')).toContain('text/markdown');
});

test('an address without the slash at its end leads to the page; others are not found, also outside of the guide', async () => {
  expect((await get('/concepts/runs')).headers.get('location')).toBe('/concepts/runs/');
  for (const path of ['/nowhere/', '/../package.json', '/%2e%2e/package.json', '/images/..%2f..%2fpackage.json', '/%'])
    expect((await get(path)).status).toBe(404);
  expect((await guide.answer(new Request('http://127.0.0.1/tools/', { method: 'POST' }))).status).toBe(405);
});

test('a search shows pages with their best section, and the words as written', async () => {
  const { text } = await get('/search?q=unknown_agent%20%3Cb%3E');
  expect(text).toContain('<a href="/errors/#unknown_agent">Errors: unknown_agent</a>');
  expect(text).toContain('value="unknown_agent &lt;b&gt;"');
  expect((await get('/search?q=the')).text).toContain('No page has these words');
});

test('words are found in other forms, and in parts of names', () => {
  expect(wordsOf('How do I retry the failedCalls of tool_results?')).toEqual([
    'retry',
    'failedcall',
    'fail',
    'call',
    'tool_result',
    'tool',
    'result',
  ]);
  expect(wordsOf('approvals')).toEqual(wordsOf('approve'));
});

test('of 30 questions, at least 27 have their page among the first three', async () => {
  const index = new GuideIndex(await guidePages());
  const missed = QUESTIONS.flatMap(({ ask, page }) => {
    const first = index.find(ask).slice(0, 3);
    return first.some(({ page: { file } }) => file === `${page}.md`)
      ? []
      : [`${ask}: ${first.map((one) => one.page.file).join(', ')}, not ${page}`];
  });
  expect(QUESTIONS).toHaveLength(30);
  expect(missed.slice(QUESTIONS.length - LEAST_ANSWERED)).toEqual([]);
});
