import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { programName } from '../../src/cli/terminal.ts';

let root = '';

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'longhaul-program-'));
  for (const prefix of ['project', 'global/lib']) {
    const main = join(root, prefix, 'node_modules/longhaul/main.js');
    await mkdir(dirname(main), { recursive: true });
    await writeFile(main, '');
    await chmod(main, 0o755);
  }
  await mkdir(join(root, 'project/node_modules/.bin'));
  await symlink('../longhaul/main.js', join(root, 'project/node_modules/.bin/longhaul'));
  await mkdir(join(root, 'global/bin'));
  await symlink('../lib/node_modules/longhaul/main.js', join(root, 'global/bin/longhaul'));
});

afterAll(() => rm(root, { recursive: true }));

function named(main: string, path: string[], cwd = 'project'): string {
  return programName({ main: join(root, main), cwd: join(root, cwd), env: { PATH: path.map((one) => join(root, one)).join(':') } });
}

test('the program of a project is called with npx, from the project and from npm, which adds it to the PATH', () => {
  expect(named('project/node_modules/longhaul/main.js', [])).toBe('npx longhaul');
  expect(named('project/node_modules/.bin/longhaul', ['project/node_modules/.bin'])).toBe('npx longhaul');
});

test('the program of a project is called with npx if another one is installed globally', () => {
  expect(named('project/node_modules/.bin/longhaul', ['project/node_modules/.bin', 'global/bin'])).toBe('npx longhaul');
});

test('the globally installed program is called by its name', () => {
  expect(named('global/bin/longhaul', ['global/bin'])).toBe('longhaul');
  expect(named('global/bin/longhaul', ['global/bin'], 'global')).toBe('longhaul');
});
