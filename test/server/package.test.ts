import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** One project that installs the packed package, as a team does that uses it. */
let project: string;

/** The newest registry data is not needed: what `npm ci` brought is. */
const INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline'];
const INSTALL_TIMEOUT_MS = 300_000;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'longhaul-package-'));
  const { stdout } = await npm(['pack', '--json', '--pack-destination', project], root);
  const [packed] = z.array(z.object({ filename: z.string() })).parse(JSON.parse(stdout.slice(stdout.indexOf('['))));
  await cp(join(root, 'test/package/consumer'), project, { recursive: true });
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  await npm([...INSTALL, `./${packed?.filename}`, 'zod'], project);
  await npm([...INSTALL, '--save-dev', ...(await pinned(['typescript', '@types/node']))], project);
}, INSTALL_TIMEOUT_MS);

afterAll(async () => rm(project, { recursive: true, force: true }));

test('a project that installs the package type-checks against it', async () => {
  expect(await run(join(project, 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: project })).toMatchObject({ stdout: '', stderr: '' });
});

test('a project that installs the package runs agents from its own workflow and replays their histories', async () => {
  const { stdout } = await run(process.execPath, ['main.ts', inject('temporalAddress'), inject('temporalNamespace')], { cwd: project });
  expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({
    summary: expect.stringContaining('surveyor'),
    toolCallsByName: { convert_miles: 1 },
    outcome: { distance: '160.9 km', days: 4, statuses: ['completed', 'completed'] },
    replays: { host: 'replayed', run: 'replayed', tampered: 'DeterminismViolationError' },
  });
});

test('a project that installs the package has its binary', async () => {
  const { stdout } = await run(process.execPath, [join(project, 'node_modules/.bin/longhaul'), '--help'], { cwd: project });
  expect(stdout).toContain('Usage: longhaul');
});

/** npm, without what an npm script that runs this test has put into its environment about this project. */
async function npm(args: string[], cwd: string): Promise<{ stdout: string }> {
  const env = { ...process.env };
  delete env['npm_config_local_prefix'];
  return run('npm', args, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
}

/** Packages at the versions that this project has. */
async function pinned(names: string[]): Promise<string[]> {
  return Promise.all(
    names.map(async (name) => {
      const { version } = z
        .object({ version: z.string() })
        .parse(JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8')));
      return `${name}@${version}`;
    }),
  );
}
