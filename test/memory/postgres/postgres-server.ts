import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';

/** Debian's folder of PostgreSQL, with a folder for each version. */
const DEBIAN = '/usr/lib/postgresql';

/** The folder of the programs of PostgreSQL; undefined where it is not installed. */
export const postgresPrograms = existsSync(DEBIAN)
  ? readdirSync(DEBIAN)
      .map((version) => join(DEBIAN, version, 'bin'))
      .find((folder) => existsSync(join(folder, 'initdb')))
  : undefined;

/** A PostgreSQL server of a test, on a socket in a separate folder. */
export interface PostgresServer {
  /** Connects to its database. */
  pool(user?: string): Pool;
  stop(): Promise<void>;
}

/** Starts a server. */
export async function startPostgres(programs: string): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'pg-'));
  const data = join(folder, 'data');
  // PostgreSQL does not run as root: Debian's package brings a user for it.
  const isRoot = process.getuid?.() === 0;
  const command = (program: string, ...args: string[]): [string, string[]] =>
    isRoot ? ['runuser', ['-u', 'postgres', '--', join(programs, program), ...args]] : [join(programs, program), args];
  if (isRoot) chownSync(folder, idOf('-u'), idOf('-g'));
  execFileSync(...command('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'), {
    cwd: folder,
  });
  const [program, args] = command('postgres', '-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off');
  const server = spawn(program, args, { stdio: 'ignore', cwd: folder });
  const pools: Pool[] = [];
  const pool = (user = 'postgres'): Pool => {
    const made = new Pool({ host: folder, user, database: 'postgres' });
    pools.push(made);
    return made;
  };
  await whenReady(pool());
  return {
    pool,
    stop: async () => {
      await Promise.all(pools.map((one) => one.end()));
      const closed = once(server, 'close');
      execFileSync(...command('pg_ctl', 'stop', '-D', data, '-m', 'immediate'), { cwd: folder, stdio: 'ignore' });
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function idOf(kind: '-u' | '-g'): number {
  return Number(execFileSync('id', [kind, 'postgres'], { encoding: 'utf8' }));
}

async function whenReady(pool: Pool): Promise<void> {
  for (const end = performance.now() + 60_000; ; await sleep(50)) {
    try {
      await pool.query('SELECT 1');
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}
