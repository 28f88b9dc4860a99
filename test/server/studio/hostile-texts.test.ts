import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

/** Texts that would run, load, hide or deceive if they were anything but text. */
const MARKUP = [
  '<script>window.ran = 1</script>',
  '<img src=x onerror="window.ran = 1">',
  '<img src="https://evil.example/pixel.png">',
  '<svg onload="window.ran = 1"></svg>',
  '<svg><script>window.ran = 1</script></svg>',
  '<iframe src="javascript:window.parent.ran = 1"></iframe>',
  '<iframe srcdoc="<script>parent.ran = 1</script>"></iframe>',
  '<a href="javascript:window.ran = 1">click</a>',
  '<body onload="window.ran = 1">',
  '<details open ontoggle="window.ran = 1">',
  '<video><source onerror="window.ran = 1"></video>',
  '<math><mi//xlink:href="data:x,<script>window.ran = 1</script>">',
  '<style>* { display: none }</style>',
  '<link rel="stylesheet" href="https://evil.example/x.css">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<base href="https://evil.example/">',
  '<form action="https://evil.example"><button>Approve</button></form>',
  '<object data="https://evil.example/x.swf"></object>',
  '<embed src="https://evil.example/x">',
  '<template><script>window.ran = 1</script></template>',
  '"><script>window.ran = 1</script>',
  "'><script>window.ran = 1</script>",
  '</textarea><script>window.ran = 1</script>',
  '</pre></div></main><h1>Approved</h1>',
  '<!--',
  ']]>',
  '<![CDATA[<script>window.ran = 1</script>]]>',
  '&lt;script&gt;window.ran = 1&lt;/script&gt;',
  '&#60;script&#62;',
  '[click](javascript:window.ran=1)',
  '![image](https://evil.example/x.png)',
  '[link](https://evil.example)',
  '![x](data:image/svg+xml,<svg onload=window.ran=1>)',
  '```html\n<script>window.ran = 1</script>\n```',
  'javascript:window.ran=1',
  'data:text/html,<script>window.ran = 1</script>',
  'https://evil.example/"onmouseover="window.ran=1',
  'file:///etc/passwd',
  '{{constructor.constructor("window.ran = 1")()}}',
  '${window.ran = 1}',
  '<%= window.ran = 1 %>',
  '#{window.ran = 1}',
  '__proto__',
  'constructor',
  'toString',
  '../../../../etc/passwd',
  '%2e%2e%2f%2e%2e%2f',
  "'; DROP TABLE runs; --",
  '$(curl evil.example)',
  '`curl evil.example`',
  'Approve',
  'null',
  'undefined',
  'NaN',
  '[object Object]',
];

/** Texts with characters that show nothing, or change where others are shown; each with a code that the page must show. */
const HIDDEN: readonly (readonly [string, string])[] = [
  ['report\u202Egnp.exe', 'U+202E'],
  ['\u202Dleft', 'U+202D'],
  ['\u2066isolate\u2069', 'U+2066'],
  ['\u2067right\u2069', 'U+2067'],
  ['\u2068first\u2069', 'U+2068'],
  ['a\u200Bb', 'U+200B'],
  ['a\u200Cb', 'U+200C'],
  ['a\u200Db', 'U+200D'],
  ['a\u200Eb', 'U+200E'],
  ['a\u200Fb', 'U+200F'],
  ['\uFEFFbom', 'U+FEFF'],
  ['a\u2060b', 'U+2060'],
  ['a\u00ADb', 'U+00AD'],
  ['a\u061Cb', 'U+061C'],
  ['a\u180Eb', 'U+180E'],
  ['a\u2028b', 'U+2028'],
  ['a\u2029b', 'U+2029'],
  ['a\u3164b', 'U+3164'],
  ['a\u2800b', 'U+2800'],
  ['tag\u{E0061}', 'U+E0061'],
  ['a\uFE0Eb', 'U+FE0E'],
  ['a\u{E0100}b', 'U+E0100'],
  ['a\u034Fb', 'U+034F'],
  ['del\u0085', 'U+0085'],
  ['own\uE000', 'U+E000'],
];

const TEXTS = [...MARKUP, ...HIDDEN.map(([text]) => text)];

describe.skipIf(SKIPPED !== '')(`hostile texts in every place of Studio${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  /** A service whose reader reaches the runs of all tenants. */
  let operator: StudioTestbed;
  beforeAll(async () => {
    studio = await StudioTestbed.open();
    operator = await StudioTestbed.open({ authenticate: () => ({ id: 'operator', principal: 'all', scopes: ['admin'] }) });
  }, 120_000);
  afterAll(async () => {
    await studio?.[Symbol.asyncDispose]();
    await operator?.[Symbol.asyncDispose]();
  });

  test('80 texts of models, tools and users run nothing, load nothing and hide nothing', async () => {
    expect(TEXTS.length).toBe(80);
    // Each text is the name and the value of an argument, a part of what the model says, a tag and a part of what the user says.
    const members = TEXTS.filter((text) => !['__proto__', 'constructor', 'toString'].includes(text));
    const args = Object.fromEntries(members.map((text) => [text, text]));
    const run = await studio.client.start('parrot', {
      input: JSON.stringify({ args, say: TEXTS.join('\n') }),
      tags: ['<img src=x onerror="window.ran=1">', 'a\u202Eb'],
    });
    await run.result();
    const hostileTool = await studio.client.start('parrot', { input: JSON.stringify({ args: {}, tool: 'refund\u202E<b>', say: 'x' }) });
    await hostileTool.result();
    for (const place of [`#/runs/${encodeURIComponent(run.runId)}`, `#/runs/${encodeURIComponent(run.runId)}/steps/2/request`]) {
      const page = await studio.page(place);
      await shows(page, place.endsWith('request') ? 'As sent' : 'Tokens and cost');
      for (let presses = 0; presses < 30 && (await page.locator('button.more').count()) > 0; presses += 1)
        await page.locator('button.more').first().click();
      const shown = await page.locator('main').innerText();
      for (const [, code] of HIDDEN) expect([place, code, shown.includes(`⟨${code}⟩`)]).toEqual([place, code, true]);
      for (const text of MARKUP.filter((one) => !one.includes('\n')))
        expect([place, text, shown.includes(text) || shown.includes(JSON.stringify(text).slice(1, -1))]).toEqual([place, text, true]);
      expect(shown).not.toMatch(/[\u202A-\u202E\u2066-\u2069\u200B-\u200F\u2028\u2029\uFEFF\u00AD]/);
      expect(await page.evaluate('window.ran')).toBeUndefined();
      // No element comes from a text: the page's elements have no such names, and no link leads away.
      expect(await page.locator('main :is(script, iframe, img, object, embed, style, video, meta, base, form[action])').count()).toBe(0);
      expect(await page.locator('main a[href]:not([href^="#/"])').count()).toBe(0);
    }
    const list = await studio.page('#/runs');
    await shows(list, 'parrot');
    const named = await studio.page(`#/runs/${encodeURIComponent(hostileTool.runId)}`);
    await shows(named, '⟨U+202E⟩');
    expect(await list.evaluate('window.ran')).toBeUndefined();
    expect(studio.problems).toEqual([]);
  }, 120_000);

  /** Asserts that a page shows the codes of all hidden characters, and that no text had any effect. */
  async function isHarmless(page: Page): Promise<void> {
    const shown = await page.locator('main').innerText();
    for (const [text, code] of HIDDEN) expect([text, code, shown.includes(`⟨${code}⟩`)]).toEqual([text, code, true]);
    expect(shown).not.toMatch(/[\u202A-\u202E\u2066-\u2069\u200B-\u200F\u2028\u2029\uFEFF\u00AD]/);
    expect(await page.evaluate('window.ran')).toBeUndefined();
    expect(await page.locator('main :is(script, iframe, img, object, embed, style, video, meta, base, form[action])').count()).toBe(0);
    expect(await page.locator('main a[href]:not([href^="#/"])').count()).toBe(0);
    expect(studio.problems).toEqual([]);
  }

  test('80 names of tools are names, and nothing else', async () => {
    const run = await studio.client.start('parrot', { input: JSON.stringify({ names: TEXTS, say: 'Done' }) });
    await run.result();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'completed');
    await expect.poll(() => page.locator('section.call').count(), { timeout: 20_000 }).toBe(TEXTS.length);
    await isHarmless(page);
  });

  test('80 names of tenants, users, titles and tags are names, and nothing else', async () => {
    const tag = `hostile-${studio.tenant}`;
    const names = TEXTS.filter((text) => text.trim() !== '');
    const started = await Promise.all(
      names.map((text) =>
        operator.unbound.as({ tenant: text, user: text }).start('parrot', { input: text, tags: [tag, text.slice(0, 100)] }),
      ),
    );
    await Promise.all(started.map((run) => run.result()));
    const page = await operator.page(`#/runs?tag=${encodeURIComponent(tag)}`);
    await page.getByRole('button', { name: 'More' }).click();
    await expect.poll(() => page.locator('tbody tr').count(), { timeout: 40_000 }).toBe(names.length);
    await isHarmless(page);
    for (const { runId } of started.slice(0, 5)) {
      await page.goto(`${operator.url}#/runs/${encodeURIComponent(runId)}`);
      await shows(page, 'completed');
      expect(await page.evaluate('window.ran')).toBeUndefined();
    }
    expect(operator.problems).toEqual([]);
  });

  test('a line of 1 MB and 300 levels of JSON are cut with a count, and open in pages', async () => {
    const deep = Array.from({ length: 300 }).reduce<object>((inside) => ({ inside }), { end: 'of it' });
    const base = { executionId: 'x', timestamp: '2026-11-01T00:00:00.000Z', author: 'clerk' };
    const call = { type: 'tool_call', toolCallId: 'c1', name: 'look_up', arguments: { deep, line: 'x'.repeat(1_000_000) } };
    const said = { type: 'message', role: 'assistant', content: `${'y'.repeat(999_990)}THE END` };
    const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
    const event = { ...base, id: 'e0', content: [said, call], usage };
    const page = await studio.page('#/agents');
    // No run records as much: what the page makes of it is the page's affair alone.
    await page.route('**/v1/runs/big/stream*', (route) =>
      route.fulfill({
        contentType: 'text/event-stream',
        body: `id: 1\nevent: event\ndata: ${JSON.stringify({ type: 'event', offset: 0, event })}\n\n`,
      }),
    );
    await page.goto(`${studio.url}#/runs/big`);
    await shows(page, /Show 20,000 more of 999,997 characters/);
    await shows(page, /Show 20,000 more of 1,000,0\d\d characters/);
    const main = page.locator('main');
    expect(await main.innerText()).not.toContain('THE END');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    for (let presses = 0; presses < 60 && !(await main.innerText()).includes('THE END'); presses += 1)
      await page.locator('button.more').first().click();
    expect(await main.innerText()).toContain('THE END');
    expect(await page.locator('.json').first().textContent()).toContain('inside');
    expect(studio.problems).toEqual([]);
  }, 120_000);

  test('a line of 60 kB and 120 levels of JSON are cut with a count, and open in pages', async () => {
    const deep = Array.from({ length: 120 }).reduce<object>((inside) => ({ inside }), { end: 'of it' });
    const run = await studio.client.start('parrot', {
      input: JSON.stringify({ args: { deep, line: 'x'.repeat(20_000) }, say: 'y'.repeat(60_000) }),
    });
    await run.result();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Tokens and cost');
    await shows(page, /Show 20,000 more of [\d,]+ characters/);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(studio.problems).toEqual([]);
  });
});
