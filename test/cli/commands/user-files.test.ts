import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callCli } from '../call-cli.ts';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-user-files-'));
  await mkdir(join(folder, 'a-folder'));
  await writeFile(join(folder, 'a-file'), '');
  await symlink(join(folder, 'a-loop'), join(folder, 'a-loop'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Every command that reads a file which the user names, with `FILE` where the file is named. */
const READERS = [
  ['check', 'FILE'],
  ['check', 'FILE.ts'],
  ['check', 'test/cli/fixtures/two-programs.ts', '--agents', 'FILE.ts'],
  ['run', 'FILE'],
  ['run', 'FILE.ts'],
  ['run', 'triage', '--input-file', 'FILE'],
  ['start', 'clerk', 'Q', '--load', 'FILE'],
  ['session', 'load', 's1', 'FILE', '--agent', 'clerk'],
  ['replay', 'FILE'],
  ['replay', 'test/cli/fixtures/two-programs.ts', 'FILE'],
  ['worker', '--agents', 'FILE.ts'],
  ['dev', '--agents', 'FILE.ts'],
  ['serve', '--agents', 'FILE.ts'],
  ['serve', '--keys', 'FILE'],
  ['keys', 'list', '--file', 'FILE'],
  ['keys', 'revoke', 'k1', '--file', 'FILE'],
  ['memory', 'list', '--agent', 'a', '--memory', 'FILE'],
  ['memory', 'forget', '--agent', 'a', '--memory', 'FILE'],
  ['forget', '--user', 'ada', '--memory', 'FILE', '--yes'],
  ['export', 'r1', '--archive', 'FILE'],
  ['delete', 'r1', '--payload-store', 'FILE'],
];

/** Nothing listens there: problems of the file are reported before a server is called. */
const NOWHERE = ['--address', '127.0.0.1:1'];

test.each(READERS)('a file that does not exist is refused in words, and not in codes of the system: %s %s %s', async (...args) => {
  const command = args.filter((word) => word !== undefined).map((word) => word.replace('FILE', join(folder, 'nowhere')));
  const { exitCode, stdout, stderr } = await callCli([...command, ...NOWHERE]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^longhaul: .*nowhere/);
  expect(stderr).toMatch(/does not exist|There is no file/);
  expect(stderr).not.toMatch(/ENOENT|no such file or directory|\n {4}at /);
});

test.each([
  ['check', 'FOLDER'],
  ['run', 'triage', '--input-file', 'FOLDER'],
  ['start', 'clerk', 'Q', '--load', 'FOLDER'],
  ['keys', 'list', '--file', 'FOLDER'],
  ['keys', 'create', '--name', 'n', '--scope', 'runs:read', '--principal', 'all', '--file', 'FOLDER'],
  ['memory', 'list', '--agent', 'a', '--memory', 'FOLDER'],
  ['export', 'r1', '--output', 'FOLDER'],
])('a folder where a file is expected is refused in words: %s %s %s', async (...args) => {
  const command = args.filter((word) => word !== undefined).map((word) => word.replace('FOLDER', join(folder, 'a-folder')));
  const { exitCode, stderr } = await callCli([...command, ...NOWHERE]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('is a folder: name a file');
  expect(stderr).not.toMatch(/EISDIR|illegal operation/);
  expect((await readdir(folder)).toSorted()).toEqual(['a-file', 'a-folder', 'a-loop']);
});

test.each([
  ['memory', 'list', '--agent', 'a', '--memory', 'PATH'],
  ['export', 'r1', '--archive', 'PATH'],
  ['export', 'r1', '--output', 'PATH'],
  ['delete', 'r1', '--payload-store', 'PATH'],
])('a link that leads to itself, and a name that is too long, are refused in words: %s %s %s', async (...args) => {
  for (const [name, fault] of [
    ['a-loop', 'is a link that leads back to itself'],
    ['a'.repeat(300), 'has a name that is too long'],
  ] as const) {
    const command = args.filter((word) => word !== undefined).map((word) => word.replace('PATH', join(folder, name)));
    const { exitCode, stderr } = await callCli([...command, ...NOWHERE]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(fault);
    expect(stderr).not.toMatch(/ELOOP|ENAMETOOLONG|\n {4}at /);
  }
});

test('a path through a file, and a name that is too long, are refused in words', async () => {
  expect((await callCli(['check', join(folder, 'a-file', 'program.json')])).stderr).toContain('a part of its path is a file');
  expect((await callCli(['check', `${'a'.repeat(300)}.json`])).stderr).toContain('has a name that is too long');
});

test('a file that is not found by its relative path is reported with the folder that was searched', async () => {
  expect((await callCli(['check', 'nowhere.json'])).stderr).toBe(
    `longhaul: The program "nowhere.json" does not exist (looked for "${join(process.cwd(), 'nowhere.json')}")\n`,
  );
});
