import { createHandler } from '../../src/server/index.ts';
import { listen } from '../../src/server/node-server.ts';
import type { LonghaulClient } from '../../src/client/index.ts';
import { launchChromium } from './page.ts';

/** The time within which a page has to show what waits, in milliseconds. */
const SHOWN_WITHIN_MS = 60_000;

interface WaitingOnScreen {
  client: LonghaulClient;
  /** Starts a run for a user, and resolves once its call waits, with the recorded time of the wait. */
  startWaiting: (user: string) => Promise<number>;
  runs: number;
}

/** Measures the milliseconds from the record of a wait to its entry in the inbox of a page, painted, next to everything that waits already. */
export async function measureOnScreen({ client, startWaiting, runs }: WaitingOnScreen): Promise<number[]> {
  const server = await listen(createHandler(client, { studio: true, limits: false }), { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    // When the name of each user was first painted: an entry has one.
    await page.addInitScript(`
      window.painted = {};
      new MutationObserver(() => {
        for (const [user] of document.querySelector('.waiting')?.textContent.matchAll(/timed-\\d+-/g) ?? [])
          requestAnimationFrame(() => (window.painted[user] ??= Date.now()));
      }).observe(document, { subtree: true, childList: true, characterData: true });
    `);
    await page.goto(`${server.url}/studio#/inbox`);
    await page.locator('.waiting button').first().waitFor({ timeout: SHOWN_WITHIN_MS });
    const waits: number[] = [];
    for (let index = 0; index < runs; index += 1) {
      const user = `timed-${index}-`;
      const recorded = await startWaiting(user);
      const began = performance.now();
      let painted: unknown;
      while (painted === undefined) {
        if (performance.now() - began > SHOWN_WITHIN_MS) throw new Error(`The page has not shown what waits within ${SHOWN_WITHIN_MS} ms`);
        await page.waitForTimeout(50);
        painted = await page.evaluate(`window.painted['${user}']`);
      }
      // The clock is this machine's, and the record is rounded to it.
      waits.push(Math.max(0, Number(painted) - recorded));
    }
    return waits;
  } finally {
    await browser.close();
    await server.close(0);
  }
}
