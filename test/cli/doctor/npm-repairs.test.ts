import { exec } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CheckReport } from '../../../src/cli/doctor/doctor.ts';
import { Environment } from './environment.ts';
import { networkReason } from '../../installing.ts';

// The commands of the doctor that install packages, run exactly as reported, in projects that npm has installed.

let folder = '';
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'longhaul-repairs-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

async function inFolder(command: string): Promise<string> {
  const env = { ...process.env, npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' };
  return (await promisify(exec)(command, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

/** Installs the packages of a project. Returns why the network does not give them; an empty text if it does. */
async function installed(dependencies: Record<string, string>): Promise<string> {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module', dependencies }));
  try {
    await inFolder('npm install --legacy-peer-deps');
    return '';
  } catch (error) {
    return `the packages cannot be installed: ${networkReason(error)}`;
  }
}

async function checked(name: string): Promise<CheckReport | undefined> {
  await using environment = await Environment.open();
  environment.machine.folder = folder;
  return (await environment.examine()).checks.find((check) => check.name === name);
}

const SDK = ['client', 'common', 'worker', 'workflow', 'activity', 'proto', 'plugin', 'envconfig'];
const at = (version: string): Record<string, string> => Object.fromEntries(SDK.map((name) => [`@temporalio/${name}`, version]));

test.for<{ name: string; check: string; dependencies: Record<string, string> }>([
  {
    name: "packages of Temporal's SDK at two versions",
    check: 'sdk-copies',
    dependencies: { ...at('1.24.0'), '@temporalio/client': '1.23.0', protobufjs: '8.8.1' },
  },
  { name: "no package of Temporal's SDK", check: 'sdk-copies', dependencies: { protobufjs: '8.8.1' } },
  { name: 'an old protobufjs', check: 'protobufjs', dependencies: { ...at('1.24.0'), protobufjs: '7.5.0' } },
])('$name: the command of the check "$check" repairs it', { timeout: 300_000 }, async ({ check, dependencies }, { skip }) => {
  const missing = await installed(dependencies);
  skip(missing !== '', missing);
  const found = await checked(check);
  expect(found).toMatchObject({ status: 'fail', command: expect.stringMatching(/^npm install /) as string });
  await inFolder(found?.command ?? '');
  expect(await checked(check)).toMatchObject({ status: 'ok' });
});

test(
  'a package that asks for another version is named, and the command names the package that it belongs to',
  { timeout: 300_000 },
  async ({ skip }) => {
    const missing = await installed({ ...at('1.24.0'), '@temporalio/external-storage-s3': '1.22.0', protobufjs: '8.8.1' });
    skip(missing !== '', missing);
    const found = await checked('sdk-copies');
    expect(found?.summary).toContain('@temporalio/external-storage-s3 asks for that version: use a release of it for 1.24.0.');
    expect(await inFolder(found?.command ?? '')).toMatch(/1\.22\.0[^]*@temporalio\/external-storage-s3@1\.22\.0/);
  },
);
