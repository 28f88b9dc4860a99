import { globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { missingSitePackages, site } from '../test/site/built/built-site.ts';
import { search, SiteBrowser } from '../test/site/built/site-browser.ts';
import { QUESTIONS } from '../test/site/questions.ts';
import type { SiteBenchOptions } from './options.ts';
import { percentile, rounded } from './figures/statistics.ts';

/** A slow machine, in the words of Chromium. */
const SLOWDOWN = 4;

/** Measures the build of the site, its size, and its search on a slow machine. */
export async function measureSite({ rounds }: SiteBenchOptions, say: (line: string) => void): Promise<object> {
  const missing = await missingSitePackages();
  if (missing !== '') throw new Error(missing);
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-site-'));
  try {
    const { cpuSeconds } = await site('build', '--out', folder);
    say(`the build took ${cpuSeconds.toFixed(1)} s of CPU`);
    return {
      buildCpuSeconds: rounded(cpuSeconds, 1),
      ...sizes(join(folder, 'next')),
      ...(await searches(folder, rounds)),
      slowdown: SLOWDOWN,
      rounds,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function sizes(folder: string): { pages: number; outputMb: number; largestPageKb: number } {
  const files = globSync('**/*', { cwd: folder }).filter((file) => statSync(join(folder, file)).isFile());
  const pages = files.filter((file) => file.endsWith('.html'));
  const kb = pages.map((page) => {
    const text = readFileSync(join(folder, page), 'utf8');
    const styles = [...text.matchAll(/<link rel="stylesheet" href="\/next\/([^"]+)"/g)].map(([, file = '']) =>
      readFileSync(join(folder, file)),
    );
    return [Buffer.from(text), ...styles].reduce((sum, one) => sum + gzipSync(one).length, 0) / 1_000;
  });
  const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  return { pages: pages.length, outputMb: rounded(bytes / 1_000_000, 1), largestPageKb: rounded(Math.max(...kb), 1) };
}

/** The results that the box of the search shows first. */
const SHOWN = 5;

/** The time of one search on the clock of the page: until its results are found, and until the first ones are shown. */
interface SearchTimes {
  found: number;
  shown: number;
}

async function searches(folder: string, rounds: number): Promise<{ firstSearchKb: number; searchMsP95: number; searchShownMsP95: number }> {
  await using browser = await SiteBrowser.open({ folder, base: '/', first: '/next/' });
  const page = await browser.page();
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(`${browser.url}tools/`, { waitUntil: 'networkidle' });
  bytes = 0;
  await search(page, QUESTIONS[0]!.ask);
  const firstSearchKb = rounded(bytes / 1_000, 1);
  // Chromium slows the thread of the page alone: there, the whole search is slowed, which it would not be in a separate worker.
  await page.goto(`${browser.url}tools/`, { waitUntil: 'networkidle' });
  await page.evaluate(inPagefind('await pagefind.options({ noWorker: true }); await pagefind.init();'));
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  const times: SearchTimes[] = [];
  for (let round = 0; round < rounds; round += 1)
    for (const { ask } of QUESTIONS) times.push(await page.evaluate<SearchTimes>(timedSearch(ask)));
  const p95 = (pick: (time: SearchTimes) => number): number => rounded(percentile(times.map(pick), 95), 0);
  return { firstSearchKb, searchMsP95: p95(({ found }) => found), searchShownMsP95: p95(({ shown }) => shown) };
}

/** Searches in the page, and gives back the times alone: to bring a hundred results out of a slow page takes longer than to find them. */
function timedSearch(words: string): string {
  return inPagefind(`
    const began = performance.now();
    const { results } = await pagefind.search(${JSON.stringify(words)});
    const found = performance.now() - began;
    await Promise.all(results.slice(0, ${SHOWN}).map((result) => result.data()));
    return { found, shown: performance.now() - began };`);
}

function inPagefind(code: string): string {
  return `import('/next/pagefind/pagefind.js').then(async (pagefind) => {${code}})`;
}
