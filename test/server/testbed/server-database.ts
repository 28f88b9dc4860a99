import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { SEARCH_ATTRIBUTE_TYPES } from '../../../src/core/protocol.ts';
import { startDevServer } from '../../../src/dev-server/dev-server.ts';

/** Returns the contents of a server's database files as text that can be searched for clear text. */
export async function databaseOf(work: (server: { address: string }) => Promise<void>): Promise<string> {
  const cliPath = inject('temporalCliPath');
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-codec-'));
  try {
    const server = await startDevServer({
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TEMPORAL_CLI_PATH: cliPath },
      dbFile: join(directory, 'runs.sqlite'),
      searchAttributes: SEARCH_ATTRIBUTE_TYPES,
    });
    const files = async (): Promise<string> =>
      Buffer.concat(await Promise.all((await readdir(directory)).map((name) => readFile(join(directory, name))))).toString('latin1');
    let whileRunning: string;
    try {
      await work(server);
      whileRunning = await files();
    } finally {
      await server.stop();
    }
    return whileRunning + (await files());
  } finally {
    await rm(directory, { recursive: true });
  }
}
