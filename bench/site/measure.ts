import { globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { missingSitePackages, site } from '../../test/site/built/built-site.ts';
import { search, SiteBrowser } from '../../test/site/built/site-browser.ts';
import { QUESTIONS } from '../../test/site/questions.ts';
import type { SiteBenchOptions } from '../first-hours/hours-options.ts';
import { percentile, rounded } from '../figures/statistics.ts';

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

async function searches(folder: string, rounds: number): Promise<{ firstSearchKb: number; searchMsP95: number }> {
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
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const { ask } of QUESTIONS) {
      const began = performance.now();
      await page.evaluate(`import('/next/pagefind/pagefind.js').then(({ search }) => search(${JSON.stringify(ask)}))`);
      times.push(performance.now() - began);
    }
  }
  return { firstSearchKb, searchMsP95: rounded(percentile(times, 95), 0) };
}
