import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileMemory } from '../../../src/memory/file-memory.ts';
import { memoryNamespace } from '../../../src/memory/memory-store.ts';
import { sqliteMemory } from '../../../src/memory/sqlite-memory.ts';
import { callCli } from '../call-cli.ts';

const ADA = { tenant: 'acme', user: 'ada' };
const AS_ADA = ['--tenant', 'acme', '--user', 'ada'];

let folder = '';
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'longhaul-memory-'))));
afterEach(() => rm(folder, { recursive: true }));

test.each(['memory.db', 'memory.json'])(
  'entries of a user in %s are listed and forgotten, and no others',
  async (name) => {
    const file = join(folder, name);
    const memory = name.endsWith('.json') ? fileMemory({ file }) : sqliteMemory({ file });
    const namespaces = [
      memoryNamespace({ principal: ADA, agent: 'clerk' }),
      memoryNamespace({ principal: ADA, scope: 'notes' }),
      memoryNamespace({ principal: { user: 'ada' }, agent: 'clerk' }),
    ];
    for (const namespace of namespaces)
      for (let index = 0; index < 101; index += 1) await memory.remember({ namespace, key: `k${index}`, value: { index } });
    const of = (...args: string[]): Promise<{ exitCode: number; stdout: string }> => callCli(['memory', ...args, '--memory', file]);

    const table = (await of('list', '--agent', 'clerk', ...AS_ADA)).stdout.trimEnd().split('\n');
    expect(table).toHaveLength(102);
    expect(table[0]).toMatch(/^KEY +STORED +VALUE$/);
    expect(table[1]).toMatch(/^k0 +\d{4}-.* +{"index":0}$/);
    const json = (await of('list', '--scope', 'notes', ...AS_ADA, '--json')).stdout.trimEnd().split('\n');
    expect([json.length, JSON.parse(json[0] ?? '')]).toMatchObject([101, { key: 'k0', value: { index: 0 } }]);

    expect((await of('forget', '--agent', 'clerk', '--key', 'k0', ...AS_ADA)).stdout).toBe('1 entry is removed\n');
    expect((await of('forget', '--agent', 'clerk', ...AS_ADA)).stdout).toBe('100 entries are removed\n');
    expect(JSON.parse((await of('forget', ...AS_ADA, '--json')).stdout)).toEqual({ removed: 101 });
    expect((await of('list', '--scope', 'notes', ...AS_ADA)).stdout).toBe('');
    expect((await memory.list({ namespace: namespaces[2] ?? '' })).entries).toHaveLength(100);
  },
  60_000,
);
