import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { serveSite } from '../../../site/serve.ts';
import { CHROMIUM } from './built-site.ts';

/** A site on loopback, and a browser that reaches nothing else. */
export class SiteBrowser implements AsyncDisposable {
  readonly url: string;
  /** What went wrong in pages: errors, requests of other hosts, breaches of the policy. */
  readonly problems: string[] = [];
  readonly #browser: Browser;
  readonly #close: () => void;

  private constructor(browser: Browser, { url, close }: { url: string; close: () => void }) {
    this.#browser = browser;
    this.url = url;
    this.#close = close;
  }

  /** `folder` has a folder for each version; `first` is the path of the current one. */
  static async open({ folder, base, first }: { folder: string; base: string; first: string }): Promise<SiteBrowser> {
    const server = await serveSite({ folder, base, first, port: 0 });
    const args = ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
    return new SiteBrowser(await chromium.launch({ executablePath: CHROMIUM ?? '', args }), server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    this.#close();
  }

  /** Opens a page in a separate browser. */
  async page(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    const page = await context.newPage();
    const { origin } = new URL(this.url);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.problems.push(`${page.url()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.problems.push(`${page.url()}: ${error.message}`));
    page.on('request', (request) => {
      if (!/^(?:data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin)
        this.problems.push(`${page.url()} asks for ${request.url()}`);
    });
    return page;
  }
}

/** Results that are waited for. */
const LOOKED_AT = 3;

/** Types words into the search of the site, and returns the pages of the results in their order. */
export async function search(page: Page, words: string): Promise<string[]> {
  await page.locator('button[data-open-modal]').first().click();
  const input = page.locator('.pagefind-ui__search-input');
  await input.fill(words);
  const results = page.locator('.pagefind-ui__result-link');
  // While it runs, the message has the words, too, and the results of the words before are still there.
  const message = page.locator('.pagefind-ui__message', { hasText: words }).filter({ hasNotText: /^\s*Searching/ });
  const count = Number.parseInt((await message.textContent()) ?? '', 10) || 0;
  // Each result is loaded by itself. A page has several links: to it and to its sections.
  if (count > 0)
    await page
      .locator('.pagefind-ui__result')
      .nth(Math.min(count, LOOKED_AT) - 1)
      .locator(results)
      .first()
      .waitFor();
  const links = await Promise.all((await results.all()).map(async (one) => (await one.getAttribute('href')) ?? ''));
  await page.keyboard.press('Escape');
  return [...new Set(links.map((link) => link.replace(/#.*$/, '')))];
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
