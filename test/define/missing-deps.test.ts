import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const MODULE = `
import { z } from 'zod';
import type { LonghaulClient } from '../../src/client/index.ts';
import { defineAgent } from '../../src/index.ts';
const teller = defineAgent({ name: 'teller', model: 'scripted/m', deps: z.object({ user: z.string() }) });
export function starts(client: LonghaulClient): unknown {
  return [
`;

/** Starts without the deps that the agent needs. */
const STARTS = [
  "client.start(teller, { input: 'Q' }),",
  "client.run(teller, { input: 'Q' }),",
  "client.start(teller, { input: 'Q', limits: { steps: 3 }, runId: 'r' }),",
  'client.start(teller, { messages: [] }),',
  "client.session(teller, { id: 's' }),",
];

/** Returns what the compiler says about each line, by its number. */
async function compilerErrors(folder: string): Promise<Map<number, string>> {
  const said = await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).then(
    () => '',
    (error: unknown) => String((error as { stdout: unknown }).stdout),
  );
  const errors = said.split(/^(?=\S*starts\.ts\()/m);
  return new Map(errors.map((error) => [Number(/starts\.ts\((\d+),/.exec(error)?.[1]), error]));
}

// Checks the types of the whole package.
test('a start without the deps that its agent needs is an error about "deps"', { timeout: 180_000 }, async () => {
  const parent = join(root, '.cache');
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, 'deps-'));
  try {
    const config = { extends: '../../tsconfig.json', compilerOptions: { rootDir: '../..' }, include: [], files: ['starts.ts'] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    await writeFile(join(folder, 'starts.ts'), `${MODULE}${STARTS.map((start) => `    ${start}\n`).join('')}  ];\n}\n`);
    const errors = await compilerErrors(folder);
    const first = MODULE.split('\n').length;
    expect([...errors.keys()]).toEqual(STARTS.map((_, index) => first + index));
    for (const error of errors.values()) expect(error).toMatch(/Property 'deps' is missing in type/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
