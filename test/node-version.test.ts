import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { NEEDED_NODE, nodeProblem } from '../src/node-version/node-version.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

test.each(['22.18.0', '22.20.1', '24.0.0', '100.1.0'])('Node %s is accepted', (version) => {
  expect(nodeProblem(version)).toBeUndefined();
});

test.each(['23.4.0', '22.17.1', '20.19.1', '18.0.0'])('Node %s is refused with the required version', (version) => {
  expect(nodeProblem(version)).toBe(
    `Node 22.18, or 24 and newer, is needed, and this is ${version}: install one of those, or put it first in PATH`,
  );
});

test('the package, its lock file, the README and the docs name the same versions of Node', () => {
  const range = '^22.18.0 || >=24.0.0';
  expect((JSON.parse(read('package.json')) as { engines: unknown }).engines).toEqual({ node: range });
  expect((JSON.parse(read('package-lock.json')) as { packages: Record<string, unknown> }).packages['']).toMatchObject({
    engines: { node: range },
  });
  expect(read('README.md')).toContain(`${NEEDED_NODE}, is needed`);
  expect(read('docs/cli.md')).toContain(NEEDED_NODE);
  expect(read('README.md') + read('docs/cli.md')).not.toMatch(/Node 22\.1[0-7]/);
});

test('an older Node that imports an entry prints the required version', async () => {
  const old = `Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } });`;
  const entry = new URL('../src/node-version/require-node.ts', import.meta.url);
  const code = `${old} await import('${entry.href}').catch((error) => console.log(error.name + ': ' + error.message));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code]);
  expect(stdout).toContain('UsageError: longhaul cannot run here: Node 22.18, or 24 and newer, is needed, and this is 20.20.2');
});

test.each(['worker/index.ts', 'src/client/index.ts', 'src/testing/index.ts'])(
  '%s checks the version before it loads anything else',
  (path) => {
    const [first] = read(path).match(/^(?:import|export) .*$/m) ?? [];
    expect(first).toMatch(/^import '(\.\.\/src|\.\.)\/node-version\/require-node\.ts';$/);
  },
);

test('no file imports by name a feature that an older Node lacks: the check would not run', () => {
  const sources = ['src', 'activities', 'worker'].flatMap((folder) =>
    readdirSync(new URL(`../${folder}`, import.meta.url), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  );
  const named = sources.filter((path) => path.endsWith('.ts') && /import \{[^}]*\} from 'node:zlib'/.test(read(path)));
  expect(named).toEqual([]);
});
