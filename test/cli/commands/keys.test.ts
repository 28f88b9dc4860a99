import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { apiKeys, fileApiKeys } from '../../../src/server/auth/api-keys.ts';
import { bearing } from '../../server-http/auth/fake-credentials.ts';
import { callCli, type CliOutcome } from '../call-cli.ts';

const DAY_MS = 24 * 3_600_000;

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-keys-'));
  file = join(folder, 'keys.json');
});
afterEach(() => rm(folder, { recursive: true }));

function keys(...args: string[]): Promise<CliOutcome> {
  return callCli(['keys', ...args], { env: { LONGHAUL_KEYS_FILE: file } });
}

/** The JSON objects in the lines of an output. */
function objects({ stdout }: CliOutcome): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** A key that reaches the runs of all tenants and users. */
const ALL = ['--principal', 'all'];

describe('longhaul keys', () => {
  it('prints a new key once, which a server with the file accepts', async () => {
    const rights = [
      '--scope',
      'runs:read',
      '--scope',
      'runs:write',
      '--tenant',
      'acme',
      '--user',
      'ada',
      '--agent',
      'clerk',
      '--expires',
      '30d',
    ];
    const { exitCode, stdout, stderr } = await keys('create', '--name', 'shop', ...rights);
    expect([exitCode, stdout.split('\n')]).toEqual([0, [expect.stringMatching(/^lh_/), '']]);
    const [, id = '', secret = ''] = stdout.trimEnd().split('_');
    expect(stderr).toContain(`The key "${id}" is in "${file}"`);
    expect(stderr).not.toContain('all tenants');
    const caller = await apiKeys(fileApiKeys({ file }))(bearing(stdout.trimEnd()));
    expect(caller).toMatchObject({
      id,
      scopes: ['runs:read', 'runs:write'],
      agents: ['clerk'],
      principal: { tenant: 'acme', user: 'ada' },
    });
    expect((caller?.expiresAt ?? 0) - Date.now()).toBeGreaterThan(29.9 * DAY_MS);
    for (const text of [await readFile(file, 'utf8'), stderr, (await keys('list')).stdout, (await keys('list', '--json')).stdout]) {
      expect(text).not.toContain(secret);
    }
  });

  it('lists keys with their states, and revokes them by their id or by the key itself', async () => {
    const [first] = objects(await keys('create', '--name', 'first', '--scope', 'admin', ...ALL, '--json'));
    const second = (await keys('create', '--name', 'second', '--scope', 'runs:read', ...ALL, '--expires', '1ms')).stdout.trimEnd();
    const third = (await keys('create', '--name', 'third', '--scope', 'runs:read', '--tenant', 'acme')).stdout.trimEnd();
    expect(Object.keys(first ?? {}).toSorted()).toEqual(['createdAt', 'id', 'key', 'name', 'principal', 'scopes']);
    expect((await keys('revoke', String(first?.['id']))).stdout).toBe(`The key "${String(first?.['id'])}" is revoked\n`);
    expect(objects(await keys('revoke', third, '--json'))).toEqual([{ id: third.split('_')[1], revoked: true }]);
    const listed = objects(await keys('list', '--json'));
    expect(listed.map(({ name, state, principal }) => ({ name, state, principal }))).toEqual([
      { name: 'first', state: 'revoked', principal: 'all' },
      { name: 'second', state: 'expired', principal: 'all' },
      { name: 'third', state: 'revoked', principal: { tenant: 'acme' } },
    ]);
    const [header, ...rows] = (await keys('list')).stdout.trimEnd().split('\n');
    expect(header).toMatch(/^KEY +NAME +STATE +SCOPES +TENANT +USER +AGENTS +CREATED +EXPIRES$/);
    expect(rows[0]).toMatch(/ first +revoked +admin +all +all +all +\S+Z +never$/);
    expect(rows[2]).toMatch(/ third +revoked +runs:read +acme +none +all +/);
    for (const text of [String(first?.['key']), second, third]) expect(await apiKeys(fileApiKeys({ file }))(bearing(text))).toBeUndefined();
  });

  it('makes a key for all runs only on purpose', async () => {
    const create = ['create', '--name', 'ops', '--scope', 'admin'];
    const neither = await keys(...create);
    expect([neither.exitCode, neither.stdout]).toEqual([2, '']);
    expect(neither.stderr).toContain('write --tenant and --user, or "--principal all" for the runs of all tenants and users');
    const both = await keys(...create, ...ALL, '--tenant', 'acme');
    expect([both.exitCode, both.stdout]).toEqual([2, '']);
    expect(both.stderr).toContain('leave out one of them');
    const { stdout } = await keys(...create, ...ALL);
    expect(await apiKeys(fileApiKeys({ file }))(bearing(stdout.trimEnd()))).toMatchObject({ principal: 'all' });
  });

  it.each<[string[], string]>([
    [['create', '--scope', 'admin'], 'required option "--name <name>" not specified'],
    [['create', '--name', 'x'], 'required option "--scope <scope>" not specified'],
    [
      ['create', '--name', 'x', '--scope', 'everything'],
      'Allowed choices are chats:read, chats:write, runs:read, runs:write, approvals:decide, admin',
    ],
    [['create', '--name', 'x', '--scope', 'admin', ...ALL, '--expires', 'soon'], 'Write a time with its unit'],
    [['create', '--name', '', '--scope', 'admin', ...ALL], 'The key is not valid: "name"'],
    [['list'], 'There is no file'],
    [['revoke', 'k1'], 'There is no file'],
  ])('%s is refused', async (args, message) => {
    const { exitCode, stdout, stderr } = await keys(...args);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  it('names a key that there is not, and never its secret', async () => {
    const text = (await keys('create', '--name', 'x', '--scope', 'admin', ...ALL)).stdout.trimEnd();
    const other = text.replace(/^lh_./, 'lh_-').replace('-', text[3] === 'A' ? 'B' : 'A');
    const { exitCode, stderr } = await keys('revoke', other);
    expect([exitCode, stderr.includes('There is no key "'), stderr.includes(other.split('_')[2] ?? '?')]).toEqual([2, true, false]);
  });
});
