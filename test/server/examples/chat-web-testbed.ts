import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LonghaulClient, redisStreams } from 'longhaul/client';
import { type Browser, chromium, type Page } from 'playwright-core';
import { inject } from 'vitest';
import { serveSite, type Site } from '../../../examples/chat-web/site.ts';
import { redisProgram, RedisServer } from '../../streams/redis-server.ts';
import { killProcess, startWorkerProcess } from '../testbed/other-processes.ts';
import { Testbed } from '../testbed/testbed.ts';
import { BreakableNetwork } from './breakable-network.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) => existsSync(file));

/** The programs that tests of the page need and that this machine lacks, for the line of a test that is skipped. */
export const MISSING = [...(CHROMIUM === undefined ? ['chromium'] : []), ...(redisProgram === undefined ? ['redis-server'] : [])];

const WORKER = fileURLToPath(new URL('./chat-web-worker.ts', import.meta.url));

/** A browser, the site, a worker in a separate process, and Redis between them. */
export class ChatWebTestbed {
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
