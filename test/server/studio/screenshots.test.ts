import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axeProblems, shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

// With STUDIO_SCREENSHOTS=1, the pictures of docs/studio.md are rewritten. Otherwise the same pages are checked, and discarded.
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/studio/', import.meta.url));
const PICTURES = process.env['STUDIO_SCREENSHOTS'] === '1' ? fileURLToPath(new URL('../../../docs/images/', import.meta.url)) : CACHE;

/** The pages whose pictures are in docs/studio.md and the README. */
const PICTURED = new Set(['runs', 'run', 'request', 'inbox', 'inbox-edit', 'playground']);

describe.skipIf(SKIPPED !== '')(`the pages of Studio${SKIPPED}`, () => {
  let studio: StudioTestbed;
  beforeAll(async () => {
    mkdirSync(CACHE, { recursive: true });
    studio = await StudioTestbed.open();
  }, 120_000);
  afterAll(async () => studio?.[Symbol.asyncDispose]());

  /** Looks at a page in light and dark with axe, and takes a picture of it. */
  async function look(page: Page, name: string): Promise<void> {
    const found: string[] = [];
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      found.push(...(await axeProblems(page)));
      await page.evaluate('scrollTo(0, 0)');
      const folder = colorScheme === 'light' && PICTURED.has(name) ? PICTURES : CACHE;
      await page.screenshot({ path: `${folder}studio-${name}${colorScheme === 'dark' ? '-dark' : ''}.png` });
    }
    expect([name, found]).toEqual([name, []]);
    // A telephone, and twice the size of everything on this screen: nothing is beyond the edge.
    for (const width of [390, 640]) {
      await page.setViewportSize({ width, height: 860 });
      expect([name, width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, width, width]);
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: `${CACHE}studio-${name}-${width}${colorScheme === 'dark' ? '-dark' : ''}.png`, fullPage: true });
      }
    }
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.emulateMedia({ forcedColors: 'active' });
    expect([name, await axeProblems(page)]).toEqual([name, []]);
    await page.emulateMedia({ forcedColors: 'none' });
  }

  test('every page is readable by everyone, in light and dark', async () => {
    const { client } = studio;
    const done = await client.start('clerk', { input: 'Where is order 41?', tags: ['vip'] });
    await done.result();
    const run = await client.start('clerk', { input: 'My lamp arrived broken. I want my money back. It is order 42.' });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    await client.start('parrot', {
      input: JSON.stringify({ args: { file: 'report\u202Egnp.exe', to: 'p\u0430ypal.com', zero: 'a\u200Bb' }, say: 'Done' }),
    });

    const page = await studio.page();
    await shows(page, 'parrot');
    await shows(page, 'waiting');
    await look(page, 'runs');

    await page.goto(`${studio.url}#/inbox`);
    await shows(page, 'refund');
    await shows(page, 'What the user asked');
    await look(page, 'inbox');
    await page.keyboard.press('e');
    await shows(page, 'Approve as edited');
    await look(page, 'inbox-edit');

    const [refund] = (await run.approvals()).pending;
    await run.approve(refund!, { by: 'kim' });
    await run.result();
    await page.goto(`${studio.url}#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'kim approved refund');
    await shows(page, 'Tokens and cost by step');
    await shows(page, 'Step 3');
    await page.locator('.uplot').waitFor();
    await look(page, 'run');

    await page.goto(`${studio.url}#/runs/${encodeURIComponent(run.runId)}/steps/2/request`);
    await shows(page, 'As sent');
    await look(page, 'request');

    await page.goto(`${studio.url}#/playground/clerk`);
    await shows(page, 'Talk to an agent');
    await page.getByLabel('Say something').fill('My lamp arrived broken. It is order 42.');
    await page.keyboard.press('Enter');
    await shows(page, 'refund');
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'within three days. We are sorry');
    await shows(page, 'idle');
    await look(page, 'playground');

    await page.goto(`${studio.url}#/agents`);
    await shows(page, 'parrot');
    await look(page, 'agents');
    await page.goto(`${studio.url}#/agents/clerk`);
    await shows(page, 'Instructions');
    await look(page, 'agent');
    expect(studio.problems).toEqual([]);
  }, 180_000);

  test('so is every state of a page: questions, programs, long runs, empty pages, and errors', async () => {
    const { client } = studio;
    const page = await studio.page('#/inbox');
    await shows(page, /Nothing waits|waiting/);
    const asked = await client.start('asker', { input: 'Paint it' });
    await shows(page, 'Which colour?');
    await look(page, 'question');
    await asked.cancel('seen');
    await shows(page, 'Nothing waits');
    await look(page, 'inbox-empty');

    const program = await client.startProgram('letter', {});
    await program.result();
    await page.goto(`${studio.url}#/programs/letter`);
    await page.locator('svg.graph g').first().waitFor();
    await look(page, 'program');
    await page.goto(`${studio.url}#/runs/${encodeURIComponent(program.runId)}`);
    await page.locator('svg.graph g').first().waitFor();
    await shows(page, /Ended\s+completed/);
    await look(page, 'program-run');

    const long = await client.start('clerk', { input: 'many steps 130', limits: { steps: 200, toolCalls: 200 } });
    await long.result();
    await page.goto(`${studio.url}#/runs/${encodeURIComponent(long.runId)}`);
    await shows(page, /Ended\s+completed/);
    await page.locator('.windowed summary').nth(1).click();
    await page.locator('.windowed .body').first().waitFor();
    await page.locator('.uplot').waitFor();
    await look(page, 'run-long');

    await page.goto(`${studio.url}#/runs?agent=nobody`);
    await shows(page, 'No run fits');
    await look(page, 'runs-none');
    await page.goto(`${studio.url}#/runs/there-is-none`);
    await shows(page, 'run_not_found');
    await look(page, 'run-missing');
    await page.goto(`${studio.url}#/playground/nobody`);
    await shows(page, 'lists no agent nobody');
    await look(page, 'playground-nobody');
    expect(studio.problems).toEqual([]);
  }, 240_000);
});
