import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The figures of the storm that matter here. */
interface Figures {
  queries: { runs: number; queries: number; refusedQueries: number; messages: number; decisions: number; secondsToEnd: number };
}

test('8 runs on a worker that keeps 2 of them in memory, told and asked things all the time, all end, and their histories replay', async () => {
  const program = fileURLToPath(new URL('../../storm/main.ts', import.meta.url));
  const options = ['--only', 'queries', '--queried-runs', '8', '--workers', '1', '--rounds', '24', '--json'];
  const storm = spawn(process.execPath, [program, ...options], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [output] = await Promise.all([text(storm.stdout), once(storm, 'exit')]);
  const lines = output.trimEnd().split('\n');
  expect(lines.filter((line) => line.startsWith('FAILED') || line.startsWith('    '))).toEqual([]);
  expect(lines.at(-1)).toBe('6 passed, 0 failed');
  const { queries } = JSON.parse(lines.at(-2) ?? '') as Figures;
  expect(queries).toMatchObject({ runs: 8 });
  // Of 64. An answer that came too late for its client is not counted.
  expect(queries.decisions).toBeGreaterThan(50);
  // It would prove nothing if no query had come at a bad moment.
  expect(queries.refusedQueries).toBeGreaterThan(0);
  expect(queries.messages).toBeGreaterThan(50);
}, 600_000);
