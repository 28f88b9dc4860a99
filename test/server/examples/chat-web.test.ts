import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LonghaulClient, redisStreams } from 'longhaul/client';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { serveSite, type Site } from '../../../examples/chat-web/site.ts';
import { STORY } from '../../../examples/chat-web/typing-model.ts';
import { redisProgram, RedisServer } from '../../streams/redis-server.ts';
import { killProcess, startWorkerProcess } from '../testbed/other-processes.ts';
import { Testbed } from '../testbed/testbed.ts';
import { BreakableNetwork } from './breakable-network.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) => existsSync(file));

/** The programs that tests of the page need and that this machine lacks, for the line of a test that is skipped. */
const MISSING = [...(CHROMIUM === undefined ? ['chromium'] : []), ...(redisProgram === undefined ? ['redis-server'] : [])];

const WORKER = fileURLToPath(new URL('./chat-web-worker.ts', import.meta.url));

/** A browser, the site, a worker in a separate process, and Redis between them. */
class ChatWebTestbed {
  /** The network between the browser and the site. */
  readonly network: BreakableNetwork;
  readonly #site: Site;
  readonly #testbed: Testbed;
  readonly #redis: RedisServer;
  readonly #browser: Browser;
  readonly #client: LonghaulClient;
  #worker: ChildProcess | undefined;

  private constructor(parts: {
    network: BreakableNetwork;
    site: Site;
    testbed: Testbed;
    redis: RedisServer;
    browser: Browser;
    client: LonghaulClient;
  }) {
    this.network = parts.network;
    this.#site = parts.site;
    this.#testbed = parts.testbed;
    this.#redis = parts.redis;
    this.#browser = parts.browser;
    this.#client = parts.client;
  }

  static async open(): Promise<ChatWebTestbed> {
    const testbed = await Testbed.open();
    const redis = await RedisServer.start();
    const client = new LonghaulClient(testbed.client.temporal, {
      taskQueue: testbed.taskQueue,
      streams: redisStreams({ url: redis.url }),
    });
    const site = await serveSite(client, 0);
    const network = await BreakableNetwork.to(Number(new URL(site.url).port));
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
    const opened = new ChatWebTestbed({ network, site, testbed, redis, browser, client });
    await opened.startWorker();
    return opened;
  }

  async startWorker(): Promise<void> {
    const environment = {
      TEST_ADDRESS: this.#testbed.address,
      TEST_TASK_QUEUE: this.#testbed.taskQueue,
      TEST_BUNDLE: inject('workflowBundlePath'),
      TEST_REDIS_URL: this.#redis.url,
    };
    this.#worker = await startWorkerProcess(environment, WORKER);
  }

  async killWorker(): Promise<void> {
    if (this.#worker !== undefined) await killProcess(this.#worker);
  }

  /** Opens the page with a new chat. */
  async page(): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width: 720, height: 640 } });
    const page = await context.newPage();
    await page.goto(`${this.network.url}/#${randomUUID()}`);
    return page;
  }

  /** Opens the page of the supervisor in another browser. */
  async desk(): Promise<Page> {
    const page = await (await this.#browser.newContext({ viewport: { width: 720, height: 640 } })).newPage();
    await page.goto(`${this.#site.url}/desk`);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    this.network.close();
    this.#site.close();
    await this.killWorker();
    await this.#client.close().catch(() => undefined);
    await this.#redis.stop();
    await this.#testbed[Symbol.asyncDispose]().catch(() => undefined);
  }
}

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

  test('a page whose URL names another chat shows that one, and sends messages to it', async () => {
    const page = await testbed.page();
    const first = page.url();
    await say(page, `Good morning ${'x'.repeat(300)}`);
    await shows(page, 'scripted model');
    await isReady(page);
    // A long word does not make the page wider than the screen.
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    const other = randomUUID();
    await page.evaluate(`location.hash = '${other}'`);
    await expect.poll(() => page.locator('article').count()).toBe(0);
    await say(page, 'Tell me a story');
    await shows(page, 'Once upon a time');
    await page.goBack();
    await expect.poll(() => page.locator('article.user').allInnerTexts()).toEqual([expect.stringContaining('Good morning')]);
    expect(page.url()).toBe(first);
    await page.goForward();
    await shows(page, STORY);
    expect(await page.locator('article.user').allInnerTexts()).toEqual(['Tell me a story']);
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
