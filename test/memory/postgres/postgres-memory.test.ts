import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorCode, UsageError } from '../../../src/core/domain/errors.ts';
import { memoryStoreConformance } from '../../../src/memory/memory-store-conformance.ts';
import { postgresMemory, type PostgresPool } from '../../../src/memory/postgres-memory.ts';
import { postgresPrograms, type PostgresServer, startPostgres } from './postgres-server.ts';

const SLOW = 120_000;

/** Runs the conformance cases and the PostgreSQL cases on a database that `connect` opens. */
function describeStore(connect: () => PostgresPool): void {
  it.each(memoryStoreConformance)('$name', async ({ run }) => {
    await expect(run(postgresMemory({ pool: connect(), schema: randomUUID() }))).resolves.toBeUndefined();
  });

  it('is created once by all that use it first', async () => {
    const schema = `the "first" one, ${randomUUID().slice(0, 8)}`;
    const stores = Array.from({ length: 8 }, () => postgresMemory({ pool: connect(), schema }));
    await Promise.all(stores.map((store, index) => store.remember({ namespace: 'n', key: `k${index}`, value: index })));
    expect(await stores[0]?.recall({ namespace: 'n', text: 'k', topK: 100 })).toHaveLength(8);
  });

  it('keeps schemas apart', async () => {
    const [one, other] = ['one', 'other'].map((name) => postgresMemory({ pool: connect(), schema: `${name} ${randomUUID().slice(0, 8)}` }));
    await one?.remember({ namespace: 'n', key: 'k', value: 1 });
    expect(await other?.recall({ namespace: 'n', text: '' })).toEqual([]);
  });
}

describe.each([
  ['with the extension vector', { vector }],
  ['without the extension vector', {}],
])('postgresMemory in PGlite %s', (name, extensions) => {
  let database: PGlite;
  beforeAll(async () => {
    database = await PGlite.create({ extensions });
  }, SLOW);
  afterAll(() => database.close());

  describeStore(() => database);

  it('knows if the database compares vectors', async () => {
    await postgresMemory({ pool: database, schema: 'v' }).recall({ namespace: 'n', text: '' });
    const { rows } = await database.query("SELECT to_regtype('vector') IS NOT NULL AS found");
    expect(rows).toEqual([{ found: name === 'with the extension vector' }]);
  });
});

const missing = postgresPrograms === undefined ? ' (skipped: there is no /usr/lib/postgresql/*/bin/initdb)' : '';

describe.skipIf(postgresPrograms === undefined)(`postgresMemory in a PostgreSQL server${missing}`, () => {
  let server: PostgresServer;
  let pool: PostgresPool;
  beforeAll(async () => {
    server = await startPostgres(postgresPrograms ?? '');
    pool = server.pool();
  }, SLOW);
  afterAll(() => server.stop());

  describeStore(() => pool);

  it.each(Array.from({ length: 5 }, (_, round) => round))('is created once by connections of several workers: round %i', async (round) => {
    const stores = Array.from({ length: 6 }, () => postgresMemory({ pool: server.pool(), schema: `round ${round}` }));
    await Promise.all(stores.map((store) => store.recall({ namespace: 'n', text: '' })));
    await Promise.all(stores.map((store) => store.remember({ namespace: 'n', key: 'same', value: 'x' })));
    expect(await stores[0]?.recall({ namespace: 'n', text: 'same', topK: 100 })).toHaveLength(1);
  });

  it('is used by a role that may create nothing', async () => {
    await pool.query('CREATE ROLE reader LOGIN');
    const made = postgresMemory({ pool, schema: 'made' });
    await made.remember({ namespace: 'n', key: 'k', value: 1 });
    await pool.query('GRANT USAGE ON SCHEMA made TO reader');
    await pool.query('GRANT SELECT ON made.memory_entries TO reader');
    const read = postgresMemory({ pool: server.pool('reader'), schema: 'made' });
    expect(await read.recall({ namespace: 'n', text: 'k' })).toMatchObject([{ value: 1 }]);
    const error: unknown = await read.forget({ namespace: 'n' }).catch((caught: unknown) => caught);
    expect(errorCode(error)).toBe('memory_unavailable');
    expect(String(error)).toContain('permission denied');
  });
});

describe('postgresMemory', () => {
  it('tries to create its table again after a failure', async () => {
    let failures = 1;
    const pool = {
      query: async (): Promise<{ rows: unknown[] }> => {
        failures -= 1;
        if (failures >= 0) throw new Error('connection refused');
        return { rows: [] };
      },
    };
    const store = postgresMemory({ pool });
    await expect(store.forget({ namespace: 'n' })).rejects.toThrow('PostgreSQL cannot be used as a memory: connection refused');
    expect(await store.forget({ namespace: 'n' })).toBe(0);
  });

  it('needs a pool and a schema with a name', () => {
    expect(() => postgresMemory({} as { pool: PostgresPool })).toThrow(UsageError);
    const pool = { query: async () => ({ rows: [] }) };
    for (const schema of ['', 'a\0', 'x'.repeat(64)]) expect(() => postgresMemory({ pool, schema })).toThrow('"schema" is');
  });
});
