import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { SecretVault, type SecretVaultOptions } from '../../../activities/secret-vault.ts';
import { errorCode, ERROR_CODES, secret } from '../../../src/index.ts';
import type { SecretSource } from '../../../src/secrets/secret-sources.ts';

const VALUE = 'v8-Kq2-x91';

function vaultOf(values: Record<string, string>, options: SecretVaultOptions = {}): SecretVault {
  return new SecretVault((name) => values[name], options);
}

/** Returns the error of `work`. */
async function failureOf(work: Promise<unknown>): Promise<Error> {
  const failure: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure instanceof Error) return failure;
  throw new Error('This was to fail');
}

describe('a secret is read', () => {
  afterEach(() => vi.unstubAllEnvs());

  test('by its name, or by a reference with the prefix before it', async () => {
    const vault = vaultOf({ 'crm-token': VALUE });
    expect(await vault.resolve('crm-token')).toBe(VALUE);
    expect(await vault.resolve(secret('crm-token', { prefix: 'Bearer ' }))).toBe(`Bearer ${VALUE}`);
  });

  test('from the environment by default', async () => {
    vi.stubEnv('CRM_TOKEN', VALUE);
    expect(await new SecretVault().resolve('crm-token')).toBe(VALUE);
  });

  test('from the first source that has it; an empty text does not count', async () => {
    const sources: SecretSource[] = [() => undefined, () => '', async () => VALUE, () => 'the last one'];
    expect(await new SecretVault(sources).resolve('crm-token')).toBe(VALUE);
  });

  test('again after some minutes, so that a new value is used', async () => {
    const values = { 'crm-token': VALUE };
    let now = 0;
    const vault = vaultOf(values, { now: () => now, cacheMs: 1_000 });
    await vault.resolve('crm-token');
    values['crm-token'] = 'rotated-value';
    now = 999;
    expect(await vault.resolve('crm-token')).toBe(VALUE);
    now = 1_000;
    expect(await vault.resolve('crm-token')).toBe('rotated-value');
    expect(vault.redact(`${VALUE} rotated-value`)).toBe('[secret "crm-token"] [secret "crm-token"]');
  });

  test('once for all callers at the same time, and again after a failure', async () => {
    const read = vi.fn<(name: string) => Promise<string>>(async (name) => `value of ${name}`);
    read.mockRejectedValueOnce(new Error('down'));
    const vault = new SecretVault(read);
    const failed = await Promise.all([failureOf(vault.resolve('a')), failureOf(vault.resolve('a'))]);
    expect(failed.map(errorCode)).toEqual(['secret_unavailable', 'secret_unavailable']);
    expect(await Promise.all([vault.resolve('a'), vault.resolve('b'), vault.resolve('a')])).toEqual([
      'value of a',
      'value of b',
      'value of a',
    ]);
    expect(read.mock.calls).toEqual([['a'], ['a'], ['b']]);
  });
});

describe('a secret that cannot be loaded', () => {
  test('is missing too if a source cannot name its place, and the error of the source is not passed on', async () => {
    const where = (): never => {
      throw new Error('hunter2-hunter2');
    };
    const missing = new SecretVault({ where, read: () => undefined }).resolve('crm-token');
    await expect(missing).rejects.toMatchObject({ code: 'secret_missing', message: expect.stringContaining('a source that cannot say') });
    const failing = new SecretVault({ where, read: where }).resolve('crm-token');
    await expect(failing).rejects.toMatchObject({ code: 'secret_unavailable', message: expect.not.stringContaining('hunter2') });
  });

  test('is reported with every place that was searched', async () => {
    const sources: SecretSource[] = [{ where: (name) => `the drawer of ${name}`, read: () => undefined }, () => undefined];
    const failure = await failureOf(new SecretVault(sources).resolve('crm-token'));
    expect(failure).toMatchObject({
      code: 'secret_missing',
      message:
        'Secret "crm-token" is missing. It was looked for in: the drawer of crm-token, the function at place 2 of "secrets". Put it there, or say with "secrets" of the worker where it is',
    });
    expect(await failureOf(new SecretVault([]).resolve('crm-token'))).toMatchObject({ code: 'secret_missing' });
  });

  test('because its source fails may be retried, and the message of the failure is not passed on', async () => {
    const source = (): never => {
      throw Object.assign(new Error(`refused the password ${VALUE}`), { code: 'ECONNREFUSED', value: VALUE });
    };
    const failure = await failureOf(new SecretVault(source).resolve('crm-token'));
    expect(failure).toMatchObject({ code: 'secret_unavailable', message: expect.stringContaining('failed with ECONNREFUSED') });
    expect(ERROR_CODES.secret_unavailable.retryable).toBe(true);
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(VALUE);
  });

  test.each([
    ['does not answer', () => new Promise<never>(() => {}), 'has not answered within 5 ms'],
    ['gives no text', () => ({ value: VALUE }) as never, 'returned something that is not text (object)'],
  ])('because its source %s', async (_, source, problem) => {
    const failure = await failureOf(new SecretVault(source, { lookupMs: 5 }).resolve('crm-token'));
    expect(failure).toMatchObject({ code: 'secret_unavailable', message: expect.stringContaining(problem) });
  });

  test.each(['abc', 'a  ', ' \n '])('because its value %j is too short to be redacted', async (value) => {
    const failure = await failureOf(vaultOf({ 'crm-token': value }).resolve('crm-token'));
    expect(failure).toMatchObject({ code: 'secret_missing', message: expect.stringContaining('fewer than 4 characters') });
  });

  test.each(['../x', '', { kind: 'longhaul.secret', name: '../x' } as const])('because %j is not a valid name', async (name) => {
    const asked = vi.fn<() => undefined>();
    expect(await failureOf(new SecretVault(asked).resolve(name))).toMatchObject({ name: 'UsageError' });
    expect(asked).not.toHaveBeenCalled();
  });
});

test.each([[[{}]], ['a text'], [[null]], [{ read: () => '' }]])('the sources %j are refused', (sources) => {
  expect(() => new SecretVault(sources as never)).toThrow(/^the worker: "secrets" has a value at index 0 that is not a source/);
});

test('logging a vault shows no value, and a vault reads no source before the first secret', async () => {
  const vault = vaultOf({ 'crm-token': VALUE });
  const value = { a: ['b'] };
  expect(vault.isUnused).toBe(true);
  expect(vault.redactJson(value)).toBe(value);
  expect(vault.leak(value)).toBeUndefined();
  await vault.resolve('crm-token');
  expect(vault.isUnused).toBe(false);
  expect(vault.redactJson(value)).toBe(value);
  expect(inspect(vault, { depth: 9, showHidden: true }) + JSON.stringify(vault)).not.toContain(VALUE);
});
