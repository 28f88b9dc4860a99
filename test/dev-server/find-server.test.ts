import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliCache } from '../../src/dev-server/find-server.ts';
import { DevServerError } from '../../src/dev-server/start-flags.ts';
import { findServer, type FoundServer } from '../../src/dev-server/find-server.ts';
import { CLI_WITHOUT_PRAGMA, fakeCli, fakeGo, sandbox, silentServer, writeProgram, type Sandbox } from './fake-programs.ts';

async function find(place: Sandbox, env: NodeJS.ProcessEnv = {}): Promise<{ found: FoundServer; lines: string[] }> {
  const lines: string[] = [];
  const found = await findServer({ env: { ...place.env, ...env }, say: (line) => lines.push(line) });
  return { found, lines };
}

test('the server of TEMPORAL_ADDRESS is used, before any CLI', async () => {
  const place = await sandbox();
  const cli = await place.program('temporal', fakeCli());
  const { address } = await silentServer();
  const { found } = await find(place, { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'team', TEMPORAL_CLI_PATH: cli });
  expect(found).toEqual({ type: 'running', source: 'TEMPORAL_ADDRESS', address, namespace: 'team' });
});

test('a TEMPORAL_ADDRESS that does not answer is an error, and no other server is used', async () => {
  const place = await sandbox();
  await place.program('temporal', fakeCli());
  const search = find(place, { TEMPORAL_ADDRESS: '127.0.0.1:1' });
  await expect(search).rejects.toThrow(DevServerError);
  await expect(search).rejects.toThrow('Nothing answers at TEMPORAL_ADDRESS "127.0.0.1:1". Start that server, or unset');
});

test('TEMPORAL_CLI_PATH wins over the PATH', async () => {
  const place = await sandbox();
  await place.program('temporal', fakeCli());
  const named = await writeProgram(join(place.directory, 'my-temporal'), fakeCli({ version: '1.32.0' }));
  const { found, lines } = await find(place, { TEMPORAL_CLI_PATH: named });
  expect(found).toMatchObject({ source: 'TEMPORAL_CLI_PATH', cliPath: named, serverVersion: '1.32.0' });
  expect(lines).toEqual([]);
});

test('a TEMPORAL_CLI_PATH that names no executable is skipped with a note', async () => {
  const place = await sandbox();
  const installed = await place.program('temporal', fakeCli());
  const { found, lines } = await find(place, { TEMPORAL_CLI_PATH: '/nowhere/temporal' });
  expect(found).toMatchObject({ source: 'temporal on the PATH', cliPath: installed });
  expect(lines).toContain('TEMPORAL_CLI_PATH: "/nowhere/temporal" is not an executable file');
});

const UNUSABLE = [
  { what: 'is too old', cli: fakeCli({ version: '1.28.4' }), says: 'contains server 1.28.4, which is older than 1.29' },
  {
    what: 'cannot take the flags',
    cli: CLI_WITHOUT_PRAGMA,
    says: 'cannot take the flags it is started with: unknown flag: --sqlite-pragma',
  },
  { what: 'is something else', cli: 'echo "cannot open display"', says: 'does not say which server it contains: cannot open display' },
  { what: 'crashes', cli: 'echo "bad CPU type" >&2; exit 3', says: 'does not run: bad CPU type' },
];

test.each(UNUSABLE)('a temporal on the PATH that $what is skipped with a note', async ({ cli, says }) => {
  const place = await sandbox();
  const unusable = await place.program('temporal', cli);
  await place.program('go', fakeGo(fakeCli()));
  const { found, lines } = await find(place);
  expect(found).toMatchObject({ source: 'go install' });
  expect(lines).toContain(`temporal on the PATH: "${unusable}" ${says}`);
});

test('a CLI built with Go is cached, and the second search uses it without building', async () => {
  const place = await sandbox();
  await place.program('go', fakeGo(fakeCli()));
  const first = await find(place);
  const { cliPath } = cliCache(place.env);
  expect(first.found).toMatchObject({ source: 'go install', cliPath, serverVersion: '1.29.1' });
  expect(first.found.type === 'cli' && first.found.provisionMs).toBeGreaterThan(0);
  expect(first.lines.some((line) => line.includes('a first build takes 2 to 4 minutes'))).toBe(true);

  await place.program('go', 'exit 1');
  const second = await find(place);
  expect(second.found).toMatchObject({ source: 'the cache', cliPath, provisionMs: 0 });
  expect(await readdir(place.cache)).toHaveLength(1);
});

test('a damaged file in the cache is replaced', async () => {
  const place = await sandbox();
  await place.program('go', fakeGo(fakeCli()));
  await find(place);
  await writeFile(cliCache(place.env).cliPath, 'half a file');
  const { found, lines } = await find(place);
  expect(found).toMatchObject({ source: 'go install' });
  expect(lines.some((line) => line.startsWith('the cache: ') && line.includes('does not run'))).toBe(true);
});

test('a CLI that the SDK has downloaded earlier is used', async () => {
  const place = await sandbox();
  const earlier = await writeProgram(join(place.directory, 'temporal-sdk-typescript-1.24.0'), fakeCli());
  const { found } = await find(place);
  expect(found).toMatchObject({ source: 'the download by the SDK', cliPath: earlier });
});

test('two searches that build at the same time both succeed and leave one whole file', async () => {
  const place = await sandbox();
  await place.program('go', fakeGo(fakeCli()));
  const both = await Promise.all([find(place), find(place)]);
  expect(both.map(({ found }) => found.source)).toEqual(['go install', 'go install']);
  expect(await readdir(place.cache)).toHaveLength(1);
  expect((await find(place)).found).toMatchObject({ source: 'the cache' });
});

test('a build that makes an unusable CLI does not enter the cache', async () => {
  const place = await sandbox();
  await place.program('go', fakeGo(fakeCli({ version: '1.20.0' })));
  await expect(find(place)).rejects.toThrow('contains server 1.20.0');
  expect(await readdir(place.cache)).toEqual([]);
});

test('if all ways fail, one error lists them and the three remedies', async () => {
  const index = await sandbox();
  await index.program('temporal', fakeCli({ version: '1.27.0' }));
  await index.program('go', 'echo "dial tcp: lookup: no such host" >&2; exit 1');
  const error: unknown = await find(index).catch((thrown: unknown) => thrown);
  if (!(error instanceof DevServerError)) throw new Error('a DevServerError was expected');
  const text = error.message.replaceAll(index.directory, '<place>').replace(/SDK: .*/, 'SDK: <reason>');
  expect(text).toMatchInlineSnapshot(`
    "No local Temporal server could be found or provided. Tried:
      - TEMPORAL_ADDRESS: not set
      - TEMPORAL_CLI_PATH: not set
      - temporal on the PATH: "<place>/bin/temporal" contains server 1.27.0, which is older than 1.29
      - the cache: nothing in "<place>/cache" yet
      - the download by the SDK: <reason>
      - go install: go install failed: dial tcp: lookup: no such host
    Three ways out:
      1. Install the Temporal CLI (server 1.29 or newer), so that \`temporal\` is on the PATH.
      2. Set TEMPORAL_CLI_PATH to such a CLI, or TEMPORAL_ADDRESS to a server that runs already.
      3. Install Go: the CLI is then built from source once, and kept in the cache."
  `);
  expect(await readdir(index.cache)).toEqual([]);
});
