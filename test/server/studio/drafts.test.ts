import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { press, shows, SKIPPED, StudioTestbed, tabTo } from './studio-testbed.ts';

const BROKEN = 'My lamp arrived broken. It is order 42.';

describe.skipIf(SKIPPED !== '')(
  `the drafts, reading position and pending decisions of a reader of Studio${SKIPPED}`,
  { timeout: 120_000 },
  () => {
    let studio: StudioTestbed;
    beforeAll(async () => {
      studio = await StudioTestbed.open();
    }, 120_000);
    afterAll(async () => studio?.[Symbol.asyncDispose]());

    async function waitingRun(): Promise<RunHandle> {
      const run = await studio.client.start('clerk', { input: BROKEN });
      await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 40_000 }).toBe(1);
      return run;
    }

    test('a text that grows long while it is typed keeps the focus, and its letters do not act as keys of the page', async () => {
      const run = await waitingRun();
      const page = await studio.page('#/inbox');
      await shows(page, 'arrived broken');
      await page.keyboard.press('e');
      await tabTo(page, /^1/);
      await page.keyboard.press('ControlOrMeta+a');
      const reason = `${'The lamp came in pieces, and its shade was torn. '.repeat(2)}are a e r`;
      await page.keyboard.type(reason);
      // A text that was long at first is as long a field when it gets short.
      await tabTo(page, /^note/);
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type('a rare error');
      expect((await run.approvals()).pending).toHaveLength(1);
      await press(page, 'Approve as edited');
      await run.result();
      const call = (await run.steps()).flatMap(({ toolCalls }) => toolCalls).find(({ toolName }) => toolName === 'refund');
      expect(call?.arguments).toMatchObject({ reasons: [reason, 'within 30 days'], note: 'a rare error' });
    });

    test('a key that was meant for other arguments than are shown now decides about nothing', async () => {
      const run = await waitingRun();
      const page = await studio.page();
      let isOther = false;
      await page.route(/\/v1\/(runs\/[^/]+\/)?approvals(\?.*)?$/, async (route) => {
        const response = await route.fetch();
        const text = await response.text();
        await route.fulfill({ response, body: isOther ? text.replaceAll(/"digest":"[^"]*"/g, '"digest":"of-others"') : text });
      });
      const decisions: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST' && request.url().includes('/approvals/')) decisions.push(request.postData() ?? '');
      });
      await page.evaluate(`location.hash = '#/inbox'`);
      await shows(page, 'arrived broken');
      // Other arguments come, and then the previous ones.
      for (const given of [true, false]) {
        isOther = given;
        await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
        await shows(page, 'It has changed meanwhile');
        await page.keyboard.press('a');
        await expect.poll(() => page.getByText('It has changed meanwhile').count(), { timeout: 20_000 }).toBe(0);
        expect(decisions).toEqual([]);
      }
      await page.keyboard.press('a');
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(decisions).toHaveLength(1);
    });

    test('text that is written while a message is being sent is the next message, and a reader who has gone elsewhere stays there', async () => {
      const page = await studio.page('#/playground/clerk');
      const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let sent = 0;
      await page.route('**/v1/sessions/*/messages', async (route) => {
        const own = held[sent];
        sent += 1;
        const response = await route.fetch();
        await own?.promise;
        await route.fulfill({ response });
      });
      const words = page.getByRole('textbox', { name: 'Say something' });
      await words.fill('Hello');
      await page.keyboard.press('Enter');
      await expect.poll(() => sent, { timeout: 40_000 }).toBe(1);
      await words.fill('And one more thing');
      held[0]?.resolve();
      await page.waitForURL(/#\/playground\/clerk\/./);
      expect(await words.inputValue()).toBe('And one more thing');
      await page.goto(`${studio.url}#/playground/parrot`);
      await shows(page, 'Repeats what it is told');
      await words.fill('Hello parrot');
      const answered = page.waitForResponse((response) => response.url().endsWith('/messages'));
      await page.keyboard.press('Enter');
      await expect.poll(() => sent, { timeout: 40_000 }).toBe(2);
      await goToInbox(page);
      held[1]?.resolve();
      await answered;
      // The page has taken the answer once it has drawn something that came after it.
      await page.evaluate(`fetch('/v1/me').then(() => new Promise(requestAnimationFrame))`);
      expect(page.url()).toContain('#/inbox');
    });

    test('a reader of earlier messages stays there while more messages arrive', async () => {
      const page = await studio.page('#/playground/parrot');
      const words = page.getByRole('textbox', { name: 'Say something' });
      await words.fill('The lamp is blue. '.repeat(300));
      await page.keyboard.press('Enter');
      await page.waitForURL(/#\/playground\/parrot\/./);
      const log = page.locator('.talk');
      await expect.poll(() => log.locator('.bubble').count(), { timeout: 40_000 }).toBe(2);
      // At the end, a reader sees what comes.
      const place = (): Promise<unknown> => page.evaluate(`document.querySelector('.talk').scrollTop`);
      await expect.poll(place, { timeout: 40_000 }).toBeGreaterThan(0);
      await page.evaluate(`document.querySelector('.talk').scrollTo(0, 0)`);
      await words.fill('And red');
      await page.keyboard.press('Enter');
      await expect.poll(() => log.locator('.bubble').count(), { timeout: 40_000 }).toBe(4);
      await shows(page, /idle/);
      expect(await place()).toBe(0);
    });

    test('the page of a run that has ended shows how it continues when somebody retries it elsewhere', async () => {
      const run = await studio.client.start('clerk', { input: 'many steps 3' });
      await run.result();
      const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
      await shows(page, /Ended\s+completed/);
      const reads = (): number => studio.requests.filter(({ path }) => path.endsWith(`${encodeURIComponent(run.runId)}/stream`)).length;
      const before = reads();
      await run.retry({ fromStep: 2 });
      await expect.poll(reads, { timeout: 40_000 }).toBeGreaterThan(before);
      await shows(page, /Ended\s+completed/);
      await expect.poll(() => page.locator('.row.answer').count(), { timeout: 40_000 }).toBe(4);
    });

    test('refused counts of runs are reported as refused, and appear when they are requested again', async () => {
      const page = await studio.page('#/inbox');
      let isBroken = true;
      await page.route('**/v1/runs/counts*', (route) =>
        isBroken ? route.fulfill({ status: 403, json: { code: 'not_authorized', detail: 'No numbers for you' } }) : route.continue(),
      );
      await page.evaluate(`location.hash = '#/runs'`);
      await shows(page, 'No numbers for you');
      isBroken = false;
      await page.getByRole('button', { name: 'Try again' }).click();
      await expect.poll(() => page.locator('ul.counts li').count(), { timeout: 40_000 }).toBeGreaterThan(0);
      expect(await page.getByRole('alert').count()).toBe(0);
    });

    test('a run of a program takes what programs take, and begins again', async () => {
      const run = await studio.client.startProgram('letter', {});
      await run.result();
      const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
      await shows(page, 'Begins the newest execution of the program again');
      expect(await page.getByLabel('From step').count()).toBe(0);
      await press(page, 'Retry');
      await shows(page, 'The program begins again.');
      await run.result();
      expect(studio.problems).toEqual([]);
    });
  },
);

async function goToInbox(page: Page): Promise<void> {
  await page.evaluate(`location.hash = '#/inbox'`);
  await shows(page, 'Inbox');
}
