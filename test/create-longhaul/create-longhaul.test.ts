import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PACKAGE_MANAGERS, PROVIDERS, TEMPLATES } from '../../create-longhaul/src/choices.ts';
import { run } from '../../create-longhaul/src/run.ts';
import { projectFiles } from '../../create-longhaul/src/templates.ts';
import { VERSIONS } from '../../create-longhaul/src/versions.ts';

let folder = '';
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'create-longhaul-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Outcome {
  code: number;
  out: string;
  err: string;
}

async function create(
  args: readonly string[],
  {
    nodeVersion = '24.21.0',
    signal = new AbortController().signal,
    ask,
  }: { nodeVersion?: string; signal?: AbortSignal; ask?: (question: string) => Promise<string> } = {},
): Promise<Outcome> {
  const outcome = { code: 0, out: '', err: '' };
  outcome.code = await run(args, {
    env: {},
    nodeVersion,
    signal,
    ask,
    out: (line) => (outcome.out += `${line}\n`),
    err: (line) => (outcome.err += `${line}\n`),
  });
  return outcome;
}

const FILES_ALONE = ['--no-install', '--no-git', '--yes'];

test.each(TEMPLATES.flatMap((template) => PROVIDERS.map((provider) => ({ template, provider }))))(
  'the template $template with $provider has at most 12 files, and names its provider',
  ({ template, provider }) => {
    for (const packageManager of PACKAGE_MANAGERS) {
      const files = projectFiles({ name: 'shop', template, provider, packageManager });
      expect(Object.keys(files).length).toBeLessThanOrEqual(12);
      expect(Object.keys(files)).toEqual(
        expect.arrayContaining([
          'agents.ts',
          'agents.test.ts',
          'package.json',
          'tsconfig.json',
          '.env.example',
          'Dockerfile',
          'AGENTS.md',
          'README.md',
        ]),
      );
      expect(files['agents.ts']).toContain(`model: '${provider}/`);
      // Without "run", "pnpm doctor" and "bun test" would be commands of the package managers.
      expect(files['README.md']).toContain(`${packageManager} run doctor`);
      expect(files['AGENTS.md']).toContain(`${packageManager} run test`);
      expect(files['Dockerfile']).toContain(`${packageManager} install`);
      // A whole folder in an image has its .env, too.
      expect(files['Dockerfile']).not.toMatch(/^COPY \. /m);
      const { dependencies } = JSON.parse(files['package.json'] ?? '') as { dependencies: Record<string, string> };
      for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    }
  },
);

test.each(PROVIDERS)(
  'a worker of a separate project has the agents and the providers of agents.ts with %s, and is the only one',
  (provider) => {
    const files = projectFiles({ name: 'shop', template: 'existing-worker', provider, packageManager: 'npm' });
    expect(files['agents.ts']).toMatch(/^export const providers = /m);
    expect(files['worker.ts']).toContain("import { agents, providers } from './agents.ts'");
    expect(files['worker.ts']).toContain('new LonghaulPlugin({ agents, providers })');
    // A second worker would answer instead of it.
    expect((JSON.parse(files['package.json'] ?? '') as { scripts: Record<string, string> }).scripts['dev']).toBe('longhaul dev');
  },
);

test('pnpm does not fail for install scripts that it leaves out, also in an image', () => {
  const files = projectFiles({ name: 'shop', template: 'basic', provider: 'scripted', packageManager: 'pnpm' });
  expect(files['pnpm-workspace.yaml']).toContain('strictDepBuilds: false');
  expect(files['Dockerfile']).toContain('COPY package.json *lock* pnpm-workspace.yaml ./');
  expect(projectFiles({ name: 'shop', template: 'basic', provider: 'scripted', packageManager: 'npm' })).not.toHaveProperty(
    'pnpm-workspace.yaml',
  );
});

test.each(['docs/templates.md', 'create-longhaul/README.md'])('%s names each template, provider and package manager', async (page) => {
  const text = await readFile(new URL(`../../${page}`, import.meta.url), 'utf8');
  const named = [...TEMPLATES, ...PROVIDERS, ...PACKAGE_MANAGERS];
  expect(named.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

test('assistants are told existing pages of the manual, and the commands that list and print them', () => {
  const { 'AGENTS.md': text = '' } = projectFiles({ name: 'shop', template: 'basic', provider: 'scripted', packageManager: 'pnpm' });
  const pages = [...text.matchAll(/`([\w/-]+\.md)`/g)].map(([, page = '']) => page);
  expect(pages.length).toBeGreaterThan(5);
  expect(pages.filter((page) => !existsSync(new URL(`../../docs/${page}`, import.meta.url)))).toEqual([]);
  expect(text).toContain('`pnpm exec longhaul docs --print` lists its pages');
});

test('a project is written, and no draft is left', async () => {
  const target = join(folder, 'shop');
  const { code, out } = await create([target, '--template', 'approvals', ...FILES_ALONE]);
  expect(code).toBe(0);
  expect(out).toContain('Wrote 9 files');
  expect(await readdir(folder)).toEqual(['shop']);
  expect(JSON.parse(await readFile(join(target, 'package.json'), 'utf8'))).toMatchObject({
    name: 'shop',
    dependencies: { longhaul: VERSIONS.longhaul },
  });
  expect(await readFile(join(target, 'agents.ts'), 'utf8')).toContain("approval: 'always'");
});

test('a folder that is not empty is refused, with three of its files, and nothing is written', async () => {
  const target = join(folder, 'shop');
  await mkdir(target);
  for (const name of ['d.txt', 'a.txt', 'c.txt', 'b.txt']) await writeFile(join(target, name), 'mine');
  const { code, err } = await create([target, ...FILES_ALONE]);
  expect(code).toBe(2);
  expect(err).toContain('it has "a.txt", "b.txt", "c.txt" and 1 more');
  expect((await readdir(target)).toSorted()).toEqual(['a.txt', 'b.txt', 'c.txt', 'd.txt']);
  expect(await readdir(folder)).toEqual(['shop']);
});

test('an empty folder, and one with a repository alone, are used', async () => {
  await mkdir(join(folder, 'empty'));
  expect((await create([join(folder, 'empty'), ...FILES_ALONE])).code).toBe(0);
  await mkdir(join(folder, 'cloned', '.git'), { recursive: true });
  expect((await create([join(folder, 'cloned'), ...FILES_ALONE])).code).toBe(0);
  expect(await readdir(join(folder, 'cloned'))).toEqual(expect.arrayContaining(['.git', 'agents.ts']));
});

test('a file at the place of the folder is refused', async () => {
  await writeFile(join(folder, 'shop'), 'mine');
  const { code, err } = await create([join(folder, 'shop'), ...FILES_ALONE]);
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('it is a file') });
  expect(await readFile(join(folder, 'shop'), 'utf8')).toBe('mine');
});

test.each([
  ['MyAgent', 'it may have no capital letters, such as "myagent"'],
  ['.agent', 'it may not begin with a dot'],
  ['my agent', 'it may have no spaces'],
  ['node_modules', 'npm keeps this name'],
  ['agent!', "any of ~ ' ! ( ) *"],
  ['agänt', 'characters that an address can have'],
  ['a'.repeat(215), 'at most 214 characters'],
])('the name %s breaks a rule of npm, which is named', async (name, rule) => {
  const { code, err } = await create([join(folder, name), ...FILES_ALONE]);
  expect(code).toBe(2);
  expect(err).toContain(rule);
  expect(await readdir(folder)).toEqual([]);
});

test.each([
  [['--template', 'aproval'], 'Did you mean "approvals"?'],
  [['--provider', 'openia'], 'Did you mean "openai"?'],
  [['--package-manager', 'pnmp'], 'Did you mean "pnpm"?'],
  [['--templat', 'basic'], '--help'],
  [['other'], 'one folder too many'],
  // What npm passes on in PowerShell of: npm create longhaul shop -- --template basic
  [['basic'], `npm create longhaul my-agent '--' --template basic`],
])('%j is refused with the nearest choice', async (args, expected) => {
  const { code, err } = await create([join(folder, 'shop'), ...args, ...FILES_ALONE]);
  expect(code).toBe(2);
  expect(err).toContain(expected);
  expect(await readdir(folder)).toEqual([]);
});

test.each(['20.19.1', '22.17.0', '23.5.0'])(
  'Node %s is too old: the message says which is needed, and nothing is written',
  async (nodeVersion) => {
    const { code, err } = await create([join(folder, 'shop'), ...FILES_ALONE], { nodeVersion });
    expect(code).toBe(2);
    expect(err).toContain(`Node 22.18, or 24 and newer, and this is ${nodeVersion}`);
    expect(await readdir(folder)).toEqual([]);
  },
);

test('an unfinished project is removed on interruption', async () => {
  const controller = new AbortController();
  controller.abort();
  expect((await create([join(folder, 'shop'), ...FILES_ALONE], { signal: controller.signal })).code).toBe(130);
  expect(await readdir(folder)).toEqual([]);
});

/** Begins a project in a separate process with an npm that does not end by itself, and sends it Ctrl-C while npm installs. */
async function interruptInstall(target: string, cwd: string): Promise<unknown> {
  const main = fileURLToPath(new URL('../../create-longhaul/src/main.ts', import.meta.url));
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'npm'), '#!/bin/sh\nmkdir node_modules\necho installing\nexec sleep 60\n', { mode: 0o755 });
  const child = spawn(process.execPath, [main, target, '--no-git', '--yes'], {
    cwd,
    env: { ...process.env, PATH: `${bin}:${process.env['PATH']}` },
  });
  await new Promise((resolve) => child.stdout.on('data', (chunk: Buffer) => chunk.toString().includes('installing') && resolve(undefined)));
  child.kill('SIGINT');
  return new Promise((resolve) => child.on('close', resolve));
}

test('Ctrl-C while packages are installed leaves nothing', async () => {
  expect(await interruptInstall('shop', folder)).toBe(130);
  expect(await readdir(folder)).toEqual(['bin']);
});

test('Ctrl-C does not change the repository that a project was begun in', async () => {
  const cloned = join(folder, 'cloned');
  await mkdir(join(cloned, '.git'), { recursive: true });
  await writeFile(join(cloned, '.git', 'HEAD'), 'mine');
  expect(await interruptInstall('.', cloned)).toBe(130);
  expect(await readdir(cloned)).toEqual(['.git']);
  expect(await readFile(join(cloned, '.git', 'HEAD'), 'utf8')).toBe('mine');
});

test('an empty folder is not replaced, because a shell may be in it', async () => {
  const empty = join(folder, 'empty');
  await mkdir(empty);
  const before = await stat(empty);
  expect((await create([empty, ...FILES_ALONE])).code).toBe(0);
  expect((await stat(empty)).ino).toBe(before.ino);
  expect(await readdir(empty)).toHaveLength(9);
});

test('missing options are asked for, unless --yes', async () => {
  const asked: string[] = [];
  const ask = async (question: string): Promise<string> => {
    asked.push(question.split(/[: (]/)[0] ?? '');
    return question.startsWith('Template') ? 'sessions' : '';
  };
  const { code } = await create([join(folder, 'shop'), '--no-install', '--no-git'], { ask });
  expect({ code, asked }).toEqual({ code: 0, asked: ['Template', 'Provider'] });
  expect(await readFile(join(folder, 'shop', 'README.md'), 'utf8')).toContain('longhaul chat clerk');
});

test('its package has no dependency, and it writes the versions of the project', async () => {
  const root = async (path: string): Promise<Record<string, Record<string, string>>> =>
    JSON.parse(await readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')) as Record<string, Record<string, string>>;
  const [own, product] = await Promise.all([root('create-longhaul/package.json'), root('package.json')]);
  expect(own).not.toHaveProperty('dependencies');
  expect(own?.['version']).toBe(product?.['version']);
  const dev = product?.['devDependencies'] ?? {};
  expect(VERSIONS).toMatchObject({
    longhaul: product?.['version'],
    temporal: dev['@temporalio/worker'],
    protobufjs: dev['protobufjs'],
    zod: dev['zod'],
    typescript: dev['typescript'],
    nodeTypes: dev['@types/node'],
    anthropic: dev['@ai-sdk/anthropic'],
    ai: dev['ai'],
    react: dev['react'],
    reactDom: dev['react-dom'],
    reactTypes: dev['@types/react'],
  });
});

test('it imports nothing but its own files and parts of Node that reach no other machine', async () => {
  const source = fileURLToPath(new URL('../../create-longhaul/src', import.meta.url));
  // The templates of projects are texts, whose lines begin like imports.
  const names = (await readdir(source)).filter((name) => name !== 'templates.ts');
  const texts = await Promise.all(names.map((name) => readFile(join(source, name), 'utf8')));
  const imported = texts.flatMap((text) => [...text.matchAll(/^import .* from '([^']+)';$/gm)].map(([, from = '']) => from));
  const local = new Set(['child_process', 'fs/promises', 'path', 'process', 'readline/promises', 'util'].map((name) => `node:${name}`));
  expect(imported.filter((from) => !from.startsWith('./') && !local.has(from))).toEqual([]);
  expect(texts.join('\n')).not.toMatch(/\bfetch\(|\bimport\(|XMLHttpRequest|WebSocket/);
});
