import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { resolveServer } from '../../src/temporal/server-connection.ts';

afterEach(() => vi.unstubAllEnvs());

test('by default, the server is the local one', () => {
  vi.stubEnv('TEMPORAL_ADDRESS', undefined);
  vi.stubEnv('TEMPORAL_NAMESPACE', undefined);
  vi.stubEnv('TEMPORAL_CONFIG_FILE', join(tmpdir(), 'no-such-file.toml'));
  expect(resolveServer()).toMatchObject({ connection: { address: 'localhost:7233' }, namespace: 'default' });
});

test("the CLI's profile names the server, the environment wins over it, and the caller over both", () => {
  const file = join(mkdtempSync(join(tmpdir(), 'longhaul-')), 'temporal.toml');
  writeFileSync(file, '[profile.default]\naddress = "cloud.example:7233"\nnamespace = "team"\napi_key = "not-a-real-key"\n');
  vi.stubEnv('TEMPORAL_CONFIG_FILE', file);
  vi.stubEnv('TEMPORAL_ADDRESS', undefined);
  vi.stubEnv('TEMPORAL_NAMESPACE', undefined);
  const profile = resolveServer();
  expect(profile).toMatchObject({ connection: { address: 'cloud.example:7233', apiKey: 'not-a-real-key' }, namespace: 'team' });
  vi.stubEnv('TEMPORAL_NAMESPACE', 'other');
  expect(resolveServer().namespace).toBe('other');
  expect(resolveServer({ address: 'here:1', namespace: 'mine' })).toMatchObject({ connection: { address: 'here:1' }, namespace: 'mine' });
});
