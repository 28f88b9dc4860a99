import { FakeServer } from '../test/ai-sdk/fake-server.ts';
import { runWithCache } from '../test/ai-sdk/caching-run.ts';
import { rounded } from './figures/statistics.ts';
import type { CacheOptions } from './options.ts';

/** What the cache of a provider saves in a run. */
interface CacheFigures {
  /** The share of all tokens of input that came from the cache. */
  hit: number;
  /** The cost of the input, as a fraction of its cost without a cache. */
  inputPriceRatio: number;
  /** The most marks of a request. */
  marks: number;
  /** Bytes of the record that each step has more than without a cache. */
  extraBytesPerStep: number;
  compactions: number;
  steps: number;
  calls: number;
}

/** Measures a run in memory, with the package of Anthropic and a fake with the rules of its cache. */
export async function measureCache({ steps, calls, compactEvery }: CacheOptions, say: (line: string) => void): Promise<CacheFigures> {
  const server = new FakeServer();
  const url = await server.start();
  try {
    const run = { steps, calls, ...(compactEvery === undefined ? {} : { compactEvery }) };
    const off = await runWithCache(server, url, { ...run, cache: 'off' });
    say(`${steps} steps without a cache: ${off.bytes} bytes`);
    const { hit, inputPriceRatio, marks, compactions, bytes } = await runWithCache(server, url, { ...run, cache: 'auto' });
    return {
      hit: rounded(hit, 3),
      inputPriceRatio: rounded(inputPriceRatio, 3),
      marks,
      extraBytesPerStep: rounded(Math.max(0, bytes - off.bytes) / steps, 1),
      compactions,
      steps,
      calls,
    };
  } finally {
    server.close();
  }
}
