import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { STORY } from '../../../examples/chat-web/typing-model.ts';
import { ChatWebTestbed, MISSING } from './chat-web-testbed.ts';

const REASON = MISSING.length === 0 ? '' : ` (skipped: ${MISSING.join(' and ')} not installed)`;

const answer = 'article.assistant >> nth=-1';
const textOf = (page: Page): Promise<string> => page.locator(answer).innerText();
async function shows(page: Page, text: string): Promise<void> {
  await expect.poll(async () => (await page.locator('body').innerText()).includes(text), { timeout: 40_000, interval: 50 }).toBe(true);
}

const isReady = (page: Page): Promise<void> => page.locator('[data-status=ready]').waitFor({ state: 'attached', timeout: 40_000 });

async function say(page: Page, text: string): Promise<void> {
  await page.locator('input').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

describe.skipIf(MISSING.length > 0)(`the chat page in a browser${REASON}`, () => {
  let testbed: ChatWebTestbed;
  beforeAll(async () => {
    testbed = await ChatWebTestbed.open();
  });
  afterAll(async () => testbed[Symbol.asyncDispose]());

  test('a page that is loaded again in the middle of an answer shows it to its end', async () => {
    const page = await testbed.page();
    await say(page, 'Tell me a story');
    await shows(page, 'Once upon a time a lamp');
    await page.reload();
    await shows(page, 'between two layers');
    expect(await page.locator('[data-status=streaming]').count()).toBe(1);
    await shows(page, STORY);
    await isReady(page);
    expect(await page.locator('article').count()).toBe(2);
  });

  test('a browser that has not shown the chat before shows its earlier turns', async () => {
    const page = await testbed.page();
    await say(page, 'Order 42 arrived broken.');
    await page.getByRole('button', { name: 'Approve' }).click();
    await isReady(page);
    await say(page, 'Tell me a story');
    await shows(page, STORY);
    await isReady(page);
    const before = await page.locator('body').innerText();
    await page.evaluate('localStorage.clear()');
    await page.reload();
    await shows(page, STORY);
    expect(await page.locator('article').count()).toBe(4);
    expect(await page.locator('body').innerText()).toBe(before);
  });

  test('a page that was offline for 5 seconds continues, and one that was offline at the end gets the whole answer', async () => {
    const page = await testbed.page();
    await say(page, 'Tell me a story');
    await shows(page, 'Once upon a time');
    testbed.network.cut();
    await shows(page, 'The connection is lost');
    const before = await textOf(page);
    await page.waitForTimeout(5_000);
    expect((await textOf(page)).length).toBeLessThan(before.length + 40);
    testbed.network.restore();
    await shows(page, STORY);
    await isReady(page);
    await say(page, 'Tell me that story again');
    await shows(page, 'The clerk is answering');
    testbed.network.cut();
    await shows(page, 'The connection is lost');
    await page.waitForTimeout(15_000);
    testbed.network.restore();
    await isReady(page);
    expect((await textOf(page)).trim()).toBe(STORY);
    expect(await page.locator('article').count()).toBe(4);
  }, 120_000);

  test('a worker that is killed in the middle of a sentence leaves no trace in the answer', async () => {
    const page = await testbed.page();
    await say(page, 'Tell me a story');
    await shows(page, 'Once upon a time a lamp was sent');
    await testbed.killWorker();
    await testbed.startWorker();
    await isReady(page);
    expect((await textOf(page)).trim()).toBe(STORY);
  }, 120_000);

  test('a call is approved or rejected by a button, also after the page was loaded again', async () => {
    const page = await testbed.page();
    await say(page, 'Order 42 arrived broken');
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'refunded €80 for order 42');
    await shows(page, 'You get your money back within three days.');
    await isReady(page);
    await say(page, 'Order 43 is broken, too');
    await page.getByRole('button', { name: 'Reject' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Reject' }).click();
    await shows(page, 'Rejected.');
    await shows(page, 'I am sorry: that was not approved.');
    await isReady(page);
    expect(await page.locator('article').count()).toBe(4);
  });

  test("a supervisor decides on another page, and the customer's page shows it without a reload, and also after one", async () => {
    const page = await testbed.page();
    const desk = await testbed.desk();
    const waiting = desk.locator(`[data-run="${new URL(page.url()).hash.slice(1)}"]`);
    // The desk looks once a second: the call before may still be there.
    const decides = (name: string, order: number): Promise<void> =>
      waiting
        .filter({ hasText: `"order":${order}` })
        .getByRole('button', { name })
        .click({ timeout: 40_000 });
    await say(page, 'Order 42 arrived broken');
    await decides('Approve', 42);
    await shows(page, 'refunded €80 for order 42');
    await shows(page, 'You get your money back within three days.');
    await isReady(page);
    await say(page, 'Order 43 is broken, too');
    await page.getByRole('button', { name: 'Reject' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Reject' }).waitFor();
    await decides('Reject', 43);
    await shows(page, 'Rejected.');
    await shows(page, 'I am sorry: that was not approved.');
    await isReady(page);
    expect(await page.locator('article').count()).toBe(4);
    await expect.poll(() => waiting.count(), { timeout: 20_000 }).toBe(0);
  });

  test('the stop button ends the answer where it is, and the chat continues', async () => {
    const page = await testbed.page();
    await say(page, 'Tell me a story');
    await shows(page, 'Once upon a time a lamp');
    await page.getByRole('button', { name: 'Stop' }).click();
    await shows(page, 'Stopped.');
    await isReady(page);
    expect((await textOf(page)).length).toBeLessThan(STORY.length);
    await say(page, 'What did I say first?');
    await shows(page, 'The first thing you said was: "Tell me a story"');
  });
});
