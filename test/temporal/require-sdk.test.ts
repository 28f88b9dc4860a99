import type { Client } from '@temporalio/client';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { installedSdk } from '../../src/temporal/installed-sdk.ts';
import { OLDEST_SDK, sdkProblem } from '../../src/temporal/server-connection.ts';

const manifest = z
  .object({ peerDependencies: z.record(z.string(), z.string()), devDependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')));

function ofSdk(versions: Record<string, string>): [string, string][] {
  return Object.entries(versions).filter(([name]) => name.startsWith('@temporalio/'));
}

describe('the packages of the SDK', () => {
  test('of this project are found, and have one accepted version', () => {
    const installed = installedSdk();
    expect(Object.keys(installed)).toEqual(ofSdk(manifest.peerDependencies).map(([name]) => name));
    expect(sdkProblem(installed)).toBeUndefined();
  });

  test('may have the oldest accepted version, and any later one of the same major', () => {
    for (const [, range] of ofSdk(manifest.peerDependencies)) expect(range).toBe(`^${OLDEST_SDK}`);
    for (const version of [OLDEST_SDK, '1.24.3', '1.25.0', '1.30.0-rc.1'])
      expect(sdkProblem({ '@temporalio/client': version })).toBeUndefined();
  });

  test('are pinned for development to one exact version', () => {
    expect(new Set(ofSdk(manifest.devDependencies).map(([, version]) => version)).size).toBe(1);
    expect(ofSdk(manifest.devDependencies)[0]?.[1]).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test('may be missing', () => {
    expect(sdkProblem({})).toBeUndefined();
  });

  test('at different versions are all named', () => {
    expect(sdkProblem({ '@temporalio/client': '1.24.0', '@temporalio/common': '1.25.0', '@temporalio/worker': '1.24.0' })).toBe(
      "the packages of Temporal's SDK have different versions (@temporalio/client 1.24.0, @temporalio/common 1.25.0, " +
        '@temporalio/worker 1.24.0): install all of them at one version',
    );
  });

  test.each(['1.23.0', '1.9.3', '2.0.0', '0.99.0'])('at %s are refused', (version) => {
    expect(sdkProblem({ '@temporalio/client': version })).toBe(
      `Temporal's SDK is at ${version}, and 1.24.0 or newer of 1.x is needed: install "@temporalio/*" at such a version`,
    );
  });
});

describe('with packages of the SDK at different versions', () => {
  afterEach(() => {
    vi.doUnmock('../../src/temporal/installed-sdk.ts');
    vi.resetModules();
  });

  const mixed = { '@temporalio/client': '1.24.0', '@temporalio/worker': '1.25.0' };
  const message = /^longhaul cannot run here: .*\(@temporalio\/client 1\.24\.0, @temporalio\/worker 1\.25\.0\)/;

  test('no client and no worker can be created', async () => {
    vi.resetModules();
    vi.doMock('../../src/temporal/installed-sdk.ts', () => ({ installedSdk: () => mixed }));
    const { LonghaulClient } = await import('../../src/client/index.ts');
    expect(() => new LonghaulClient({} as Client)).toThrow(message);
    const { createWorker, LonghaulPlugin } = await import('../../worker/index.ts');
    expect(() => new LonghaulPlugin({ agents: [], providers: {} })).toThrow(message);
    await expect(createWorker({ agents: [], providers: {} })).rejects.toThrow(message);
  });
});
