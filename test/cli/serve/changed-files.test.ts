import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { changedFiles } from '../../../src/cli/serve/watch-worker.ts';
import { importedFiles } from '../../../src/cli/serve/dev-worker.ts';
import { workflowsFile } from '../../../src/cli/serve/serve-agents.ts';
import { callCli } from '../call-cli.ts';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-changed-'));
  for (const path of ['tools', 'node_modules/x', '.git']) await mkdir(join(folder, path), { recursive: true });
  const files = { 'agents.ts': '1', 'tools/shop.ts': '1', 'node_modules/x/index.js': '1', '.git/index.js': '1', 'notes.md': '1' };
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
});

afterAll(() => rm(folder, { recursive: true }));

test('changes of code files are reported, and changes of other files are not', async () => {
  const over = new AbortController();
  const told: string[][] = [];
  const watching = (async () => {
    for await (const changed of changedFiles([folder], over.signal, 5)) {
      told.push(changed.toSorted());
      if (told.length === 1) await rm(join(folder, 'agents.ts'));
      else over.abort();
    }
  })();
  await new Promise((resolve) => setTimeout(resolve, 100));
  for (const path of ['node_modules/x/index.js', '.git/index.js', 'notes.md']) await writeFile(join(folder, path), 'other');
  await new Promise((resolve) => setTimeout(resolve, 50));
  await writeFile(join(folder, 'tools/shop.ts'), 'other');
  await watching;
  expect(told).toEqual([[join(folder, 'tools/shop.ts')], [join(folder, 'agents.ts')]]);
});

test('the files of workflows are those that they import, without imports of types', async () => {
  const files = {
    'workflows.ts': `import { runAgent } from 'longhaul/workflow';\nimport type { clerk } from './agents.ts';\nimport { days } from './dates.js';\nexport * from './more';`,
    'dates.ts': `import {\n  one,\n} from './one.ts';`,
    'one.ts': '',
    'more/index.ts': 'const late = import("../late.mjs");',
    'late.mjs': '',
    'other.ts': '',
  };
  await mkdir(join(folder, 'flows/more'), { recursive: true });
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, 'flows', path), text);
  const found = await importedFiles(join(folder, 'flows/workflows.ts'));
  expect([...found].map((path) => path.slice(folder.length + 7)).toSorted()).toEqual([
    'dates.ts',
    'late.mjs',
    'more/index.ts',
    'one.ts',
    'workflows.ts',
  ]);
});

test('a workflows module that is not a file, and options of a worker without agents, are refused before a process starts', async () => {
  expect(() => workflowsFile(folder)).toThrow(/^The workflows module ".*" is not a file/);
  expect(workflowsFile(undefined)).toBeUndefined();
  expect(await callCli(['dev', '--watch'])).toMatchObject({
    exitCode: 2,
    stderr: 'longhaul: --watch configures a worker, and there is no worker without agents: add --agents <module>\n',
  });
  expect((await callCli(['dev', '--workflows', join(folder, 'flows/workflows.ts')])).stderr).toContain('--workflows configures a worker');
  expect((await callCli(['dev', '--agents', 'a.ts', '--workflows', './none.ts'])).stderr).toContain(
    'The workflows module "./none.ts" is not a file',
  );
});
