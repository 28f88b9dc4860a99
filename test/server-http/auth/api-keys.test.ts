import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorCode, UsageError } from '../../../src/core/domain/errors.ts';
import { type ApiKey, apiKeys, type ApiKeyStore, createApiKey, fileApiKeys, parseApiKey } from '../../../src/server/auth/api-keys.ts';
import { requireCaller } from '../../../src/server/create-handler.ts';
import { bearing } from './fake-credentials.ts';

const READER = { name: 'reader', principal: 'all', scopes: ['runs:read'] } as const;

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-keys-'));
  file = join(folder, 'keys.json');
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

/** A store with one key, which may be changed after it was stored. */
function storeOf(changed: (key: ApiKey) => ApiKey): ApiKeyStore {
  let kept: ApiKey | undefined;
  return {
    get: (id) => Promise.resolve(kept?.id === id ? kept : undefined),
    list: () => Promise.resolve([]),
    put: (key) => Promise.resolve(void (kept = changed(key))),
    revoke: () => Promise.resolve(false),
  };
}

describe('an API key', () => {
  it('represents its caller, with all its rights', async () => {
    const store = fileApiKeys({ file });
    const expiresAt = Date.now() + 60_000;
    const rights = { ...READER, agents: ['clerk'], principal: { tenant: 'acme', user: 'ada' }, expiresAt };
    const { key, text } = await createApiKey(store, rights);
    expect(text).toMatch(/^lh_[0-9A-Za-z]{16}_[0-9A-Za-z]{43}$/);
    expect(await apiKeys(store)(bearing(text))).toEqual({
      id: key.id,
      name: 'reader',
      scopes: ['runs:read'],
      agents: ['clerk'],
      principal: { tenant: 'acme', user: 'ada' },
      expiresAt,
    });
  });

  it('is refused with another secret, an unknown id, another form or another scheme', async () => {
    const store = fileApiKeys({ file });
    const { key, text } = await createApiKey(store, READER);
    const other = await createApiKey(fileApiKeys({ file: join(folder, 'other.json') }), READER);
    const otherSecret = parseApiKey(other.text)?.secret ?? '';
    const verify = apiKeys(store);
    for (const wrong of [
      other.text,
      `lh_${key.id}_${otherSecret}`,
      `${text}0`,
      text.slice(0, -1),
      `lh_${key.id}_`,
      `lh_${key.id}_${key.secretHash}`,
      'lh_',
    ]) {
      expect(await verify(bearing(wrong))).toBeUndefined();
    }
    expect(await verify(bearing())).toBeUndefined();
    expect(await verify(new Request('http://localhost', { headers: { authorization: `Basic ${text}` } }))).toBeUndefined();
    expect(await verify(bearing(undefined, `http://localhost/v1/runs/x/stream?token=${text}`))).toBeUndefined();
  });

  it('is refused if it has expired, is revoked, or is stored with an invalid time or hash', async () => {
    const changes: ((key: ApiKey) => ApiKey)[] = [
      (key) => ({ ...key, expiresAt: Date.now() - 1 }),
      (key) => ({ ...key, revokedAt: 0 }),
      (key) => ({ ...key, expiresAt: Number.NaN }),
      (key) => ({ ...key, secretHash: '' }),
      (key) => ({ ...key, secretHash: key.secretHash.slice(2) }),
    ];
    for (const change of changes) {
      const store = storeOf(change);
      expect(await apiKeys(store)(bearing((await createApiKey(store, READER)).text))).toBeUndefined();
    }
    const unchanged = storeOf((key) => key);
    expect(await apiKeys(unchanged)(bearing((await createApiKey(unchanged, READER)).text))).toBeDefined();
  });

  it('of another store is refused with an unknown field or without a principal, and cannot be created so', async () => {
    const misspelt = storeOf((key) => ({ ...key, agent: ['clerk'] }));
    const { text } = await createApiKey(misspelt, READER);
    const why =
      'unknown field "agent" (known: id, secretHash, name, scopes, agents, principal, createdAt, expiresAt, revokedAt). Did you mean';
    await expect(apiKeys(misspelt)(bearing(text))).rejects.toThrow(why);
    const rights = { name: 'x', scopes: ['runs:read'], principle: { tenant: 'acme' } } as unknown as typeof READER;
    await expect(createApiKey(misspelt, rights)).rejects.toThrow(/The key is not valid: "principal?e?/);
    const absent = storeOf(({ principal: _, ...key }) => key as ApiKey);
    const made = (await createApiKey(absent, READER)).text;
    const refused = requireCaller(bearing(made), apiKeys(absent));
    await expect(refused).rejects.toThrow('"principal" is missing');
  });

  it('ends at its time', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const store = fileApiKeys({ file });
    const { text } = await createApiKey(store, { ...READER, expiresAt: Date.now() + 1_000 });
    expect(await apiKeys(store)(bearing(text))).toBeDefined();
    vi.advanceTimersByTime(1_000);
    expect(await apiKeys(store)(bearing(text))).toBeUndefined();
  });
});

describe('API keys in a file', () => {
  it('are stored without their secrets, for the owner of the file alone', async () => {
    const { text } = await createApiKey(fileApiKeys({ file }), READER);
    const content = await readFile(file, 'utf8');
    expect(content).not.toContain(parseApiKey(text)?.secret);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await writeFile(file, content, { mode: 0o644 });
    await createApiKey(fileApiKeys({ file }), READER);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  it('are created and revoked by other processes while a server is running', async () => {
    const server = fileApiKeys({ file });
    const verify = apiKeys(server);
    expect(await server.list()).toEqual([]);
    const { key, text } = await createApiKey(fileApiKeys({ file }), READER);
    expect(await verify(bearing(text))).toMatchObject({ id: key.id });
    expect(await fileApiKeys({ file }).revoke(key.id, 7)).toBe(true);
    expect(await verify(bearing(text))).toBeUndefined();
    expect(await fileApiKeys({ file }).revoke(key.id, 8)).toBe(true);
    expect(await server.get(key.id)).toMatchObject({ revokedAt: 7 });
    expect(await fileApiKeys({ file }).revoke('unknown', 8)).toBe(false);
    await rm(file);
    expect(await server.list()).toEqual([]);
  });

  it('are all kept if many are created at once', async () => {
    const created = await Promise.all(Array.from({ length: 10 }, () => createApiKey(fileApiKeys({ file }), READER)));
    const listed = await fileApiKeys({ file }).list();
    expect(listed.map(({ id }) => id).toSorted()).toEqual(created.map(({ key }) => key.id).toSorted());
  });

  it('are refused as a whole, and never replaced, if the file has another content', async () => {
    const store = fileApiKeys({ file });
    const { text } = await createApiKey(store, READER);
    const good = await readFile(file, 'utf8');
    for (const content of [
      '',
      '{broken',
      '[]',
      '{"version":2,"keys":[]}',
      good.replace('runs:read', 'runs:all'),
      good.replace('"name"', '"expires"'),
    ]) {
      await writeFile(file, content);
      for (const use of [() => apiKeys(store)(bearing(text)), () => store.list(), () => createApiKey(store, READER)]) {
        expect(errorCode(await Promise.resolve(use()).catch((caught: unknown) => caught))).toBe('authorization_failed');
      }
      expect(await readFile(file, 'utf8')).toBe(content);
    }
    await writeFile(file, good);
    expect(await apiKeys(store)(bearing(text))).toBeDefined();
  });

  it('need a path', () => {
    expect(() => fileApiKeys({ file: '' })).toThrow(UsageError);
  });
});
