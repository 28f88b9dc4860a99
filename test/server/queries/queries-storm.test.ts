import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The figures of the storm that this test checks. */
interface Figures {
  queries: { runs: number; queries: number; refusedQueries: number; messages: number; decisions: number; secondsToEnd: number };
}

test('8 runs on a worker that caches 2 of them end while they get queries and Updates all the time, and their histories replay', async () => {
  const program = fileURLToPath(new URL('../../storm/main.ts', import.meta.url));
  const options = ['--only', 'queries', '--queried-runs', '8', '--workers', '1', '--rounds', '12', '--json'];
  const storm = spawn(process.execPath, [program, ...options], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [output] = await Promise.all([text(storm.stdout), once(storm, 'exit')]);
  const lines = output.trimEnd().split('\n');
  expect(lines.filter((line) => line.startsWith('FAILED') || line.startsWith('    '))).toEqual([]);
  expect(lines.at(-1)).toBe('6 passed, 0 failed');
  const { queries } = JSON.parse(lines.at(-2) ?? '') as Figures;
  expect(queries).toMatchObject({ runs: 8 });
  // There are 32 decisions. An answer that arrives after the client's time limit is not counted.
  expect(queries.decisions).toBeGreaterThan(25);
  // The test proves nothing if no query came at a bad moment.
  expect(queries.refusedQueries).toBeGreaterThan(0);
  expect(queries.messages).toBeGreaterThan(25);
}, 600_000);
