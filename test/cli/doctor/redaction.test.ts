import { expect, test } from 'vitest';
import { redaction } from '../../../src/cli/doctor/doctor.ts';
import { callCli } from '../call-cli.ts';

const redact = redaction(
  {
    OPENAI_API_KEY: 'hunter2hunter2',
    LONGHAUL_ENCRYPTION_KEYS: '2026:c2hvcnRlci10aGFu,2025:b2xkZXItdGhhbg',
    LONGHAUL_KEYS_FILE: './keys.json',
    LANG: 'C.UTF-8',
  },
  '/home/ada',
  'ada',
);

test.each([
  ['the value of a secret', 'got hunter2hunter2', 'got [OPENAI_API_KEY]'],
  ['one key among several', 'key b2xkZXItdGhhbg', 'key [LONGHAUL_ENCRYPTION_KEYS]'],
  ['a password in an address', 'redis://:s3cret@cache:6379', 'redis://cache:6379'],
  ['a user and a password', 'postgres://ada:pw@db/x', 'postgres://db/x'],
  ['a password with the sign that ends it', 'redis://user:p@ss@cache:6379', 'redis://cache:6379'],
  ['a header', 'sent Authorization: Bearer abcd.efgh', 'sent Authorization: Bearer [key]'],
  ['a key of another provider', 'with gsk_abcdefghijklmnop1234', 'with [key]'],
  ['what looks like a key', 'with sk-abcdefghijklmnop1234', 'with [key]'],
  ['a token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc', '[key]'],
  ['the folder of the user', '"/home/ada/project/agents.ts"', '"~/project/agents.ts"'],
  ['the name of the user', 'owned by ada', 'owned by [user]'],
])('%s is removed', (_, text, shown) => {
  expect(redact(text)).toBe(shown);
});

test.each([
  'the canada branch',
  'write ./keys.json',
  'C.UTF-8',
  'adapter',
  'http://127.0.0.1:8234',
  '/home/ada-lovelace/x',
  'npm-check-updates is no key',
  'Bearer tokens',
])('"%s" is not changed', (text) => {
  expect(redact(text)).toBe(text);
});

test('the name of an account that is a word of commands stays', () => {
  expect(redaction({}, '/srv/longhaul', 'longhaul')('run longhaul dev')).toBe('run longhaul dev');
});

test('the command prints a report for machines, exits with 1 for a failed check, and shows no value of a secret', async () => {
  const secret = 'a-secret-value-of-the-user';
  const { exitCode, stdout } = await callCli(['doctor', '--json', '--address', '127.0.0.1:9'], {
    env: { MY_API_KEY: secret, NODE_EXTRA_CA_CERTS: `/nowhere/${secret}.pem` },
  });
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ version: 1, ok: false, fixed: [] });
  expect(stdout).toContain('[MY_API_KEY].pem');
  expect(stdout).not.toContain(secret);
});

test('the command prints a line for each check, and one with the command that helps', async () => {
  const { stdout } = await callCli(['doctor', '--address', '127.0.0.1:9']);
  expect(stdout).toMatch(/ {2}fail {5}server +No Temporal server answers at "127\.0\.0\.1:9"/);
  expect(stdout).toMatch(/\n +npx longhaul dev\n/);
  expect(stdout).toMatch(/\d+ ok, \d+ warnings?, \d+ failed, \d+ skipped\n$/);
});

test('an unknown option is a usage error', async () => {
  expect((await callCli(['doctor', '--cure'])).exitCode).toBe(2);
});
