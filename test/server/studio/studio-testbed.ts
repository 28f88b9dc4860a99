import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { connect, LonghaulClient } from '../../../src/client/index.ts';
import { defined } from '../../../src/core/domain/json.ts';
import type { AnyAgent } from '../../../src/index.ts';
import { createHandler, type Handler, type HandlerOptions } from '../../../src/server/index.ts';
import { type HttpServer, listen } from '../../../src/server/node-server.ts';
import { memoryStreams } from '../../../src/streams/memory-streams.ts';
import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { Testbed } from '../testbed/testbed.ts';
import { AGENTS, letter, shopModel } from './studio-agents.ts';

/** The browser of this machine, if it has one. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) => existsSync(file));

/** What tests of the page lack on this machine, for the names of skipped tests, or an empty text. */
export const SKIPPED = CHROMIUM === undefined ? ' (skipped: chromium is not installed)' : '';

/** The options of the service, the pause between two words of the model, the way from the service to Temporal, and what stores hold of runs. */
type StudioOptions = HandlerOptions & { everyMs?: number; temporal?: LonghaulClient['temporal'] } & Stored;

/** How workers, clients and the service write payloads, and further agents. */
type Stored = Pick<CreateWorkerOptions, 'codec' | 'payloadStore'> & { more?: readonly AnyAgent[] };

/** A service with the page, a worker with the agents of a shop, and a browser. Its runs belong to one tenant. */
export class StudioTestbed {
  readonly tenant: string;
  readonly testbed: Testbed;
  readonly client: LonghaulClient;
  /** The client of the service: if it verifies its callers, it reaches the runs of all. */
  readonly unbound: LonghaulClient;
  readonly browser: Browser;
  /** What went wrong in pages: errors, requests of other hosts, and breaches of the policy. */
  readonly problems: string[] = [];
  /** The requests of all pages: method and path. */
  readonly requests: { method: string; path: string }[] = [];
  /** The origins other than its own that a page may lead its reader to: an issuer's. */
  readonly leadsTo = new Set<string>();
  readonly #connected: LonghaulClient | undefined;
  #handler: Handler;
  #server: HttpServer;

  private constructor(parts: {
    testbed: Testbed;
    client: LonghaulClient;
    unbound: LonghaulClient;
    browser: Browser;
    handler: Handler;
    server: HttpServer;
    tenant: string;
    connected: LonghaulClient | undefined;
  }) {
    this.testbed = parts.testbed;
    this.client = parts.client;
    this.unbound = parts.unbound;
    this.browser = parts.browser;
    this.#handler = parts.handler;
    this.#server = parts.server;
    this.#connected = parts.connected;
    this.tenant = parts.tenant;
  }

  static async open({ everyMs = 0, codec, payloadStore, more = [], ...options }: StudioOptions = {}): Promise<StudioTestbed> {
    const testbed = await Testbed.open();
    const tenant = `acme-${randomUUID().slice(0, 6)}`;
    const streams = memoryStreams();
    const provider = shopModel({ everyMs });
    const prices = { 'scripted/clerk': { input: 2, output: 8 } };
    const stored = defined({ codec, payloadStore });
    const agents = [...AGENTS, ...more];
    await testbed.work({ agents, programs: [letter], providers: { scripted: provider }, prices, streams, ...stored });
    const { taskQueue, address } = testbed;
    const { namespace } = testbed.client.temporal.options;
    const connected = codec === undefined ? undefined : await connect({ address, namespace, codec });
    const decoding = (connected ?? testbed.client).temporal;
    const client = new LonghaulClient(decoding, { taskQueue, streams, principal: { tenant } });
    const { temporal = decoding, ...handlerOptions } = options;
    // A service that verifies its callers acts for each of them, and for nobody itself.
    const principal = options.authenticate === undefined ? { principal: { tenant } } : {};
    const own = new LonghaulClient(temporal, { taskQueue, streams, ...principal, ...defined({ payloadStore }) });
    const handler = createHandler(own, {
      agents,
      programs: [letter],
      providers: { scripted: provider },
      studio: true,
      limits: false,
      ...handlerOptions,
    });
    const server = await listen(handler, { host: '127.0.0.1', port: 0 });
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
    return new StudioTestbed({ testbed, client, unbound: own, browser, handler, server, tenant, connected });
  }

  get url(): string {
    return `${this.#server.url}/studio`;
  }

  /** Opens the page at a place, in a separate browser. Its problems are in `problems`. */
  async page(place = '', options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    const { origin } = new URL(this.url);
    page.on('pageerror', (error) => this.problems.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // The browser itself reports each refusal of the service, and tests provoke refusals.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) this.problems.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol === 'data:') return;
      if (request.isNavigationRequest() && this.leadsTo.has(url.origin)) return;
      if (url.origin !== origin) this.problems.push(`request of another host: ${request.url()}`);
      this.requests.push({ method: request.method(), path: url.pathname });
    });
    await page.addInitScript(
      'addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`))',
    );
    await page.goto(`${this.url}${place}`);
    return page;
  }

  /** Lets requests pass through a function from now on, as if the service had another version. */
  changeService(change: (request: Request, next: Handler) => Promise<Response>): void {
    const next = this.#handler;
    this.#handler = (request) => change(request, next);
  }

  /** Ends the service, does something, and starts the service again at the same port. */
  async restart(meanwhile: () => Promise<void>): Promise<void> {
    const port = Number(new URL(this.#server.url).port);
    await this.#server.close(0);
    await meanwhile();
    this.#server = await listen(this.#handler, { host: '127.0.0.1', port });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.#server.close(0);
    await this.#connected?.close();
    await this.testbed[Symbol.asyncDispose]();
  }
}

/** Returns what axe finds wrong with a page, each with the element. */
export async function axeProblems(page: Page): Promise<string[]> {
  // The policy of the page blocks scripts that are added to it.
  const session = await page.context().newCDPSession(page);
  await session.send('Page.setBypassCSP', { enabled: true });
  await session.send('Runtime.evaluate', { expression: axe.source });
  const found = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return JSON.parse(String(found.result.value)) as string[];
}

/** The time that a page has to show something, in milliseconds. */
const SHOWN_WITHIN_MS = Number(process.env['STUDIO_SHOWN_WITHIN_MS'] ?? 40_000);

/** Waits until a page shows a text. Throws with what it shows instead. */
export async function shows(page: Page, text: string | RegExp): Promise<void> {
  let all = '';
  const isShown = async (): Promise<boolean> => {
    all = await page.locator('body').innerText();
    return typeof text === 'string' ? all.includes(text) : text.test(all);
  };
  try {
    await expect.poll(isShown, { timeout: SHOWN_WITHIN_MS, interval: 100 }).toBe(true);
  } catch (cause) {
    throw new Error(`The page does not show ${text}, but:\n${all.slice(0, 3_000)}`, { cause });
  }
}

/** Presses Tab until the element with that name has the focus. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let presses = 0; presses < 120; presses += 1) {
    await page.keyboard.press('Tab');
    const text = await page.evaluate(
      '(() => { const one = document.activeElement; return [one.getAttribute("aria-label"), one.labels?.[0]?.textContent, one.textContent].find((text) => text) ?? ""; })()',
    );
    if (typeof name === 'string' ? String(text).startsWith(name) : name.test(String(text))) return;
  }
  throw new Error(`No element named ${name} can be reached by Tab`);
}

/** Presses Tab until the element with that name has the focus, and then Enter. */
export async function press(page: Page, name: string | RegExp): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}
