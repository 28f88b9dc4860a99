import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { capabilityTable } from './capabilities.ts';
import { FakeServer } from './fake-server.ts';

/** The page with the table. */
export const PAGE = fileURLToPath(new URL('../../docs/providers.md', import.meta.url));

const MARK = '<!-- capabilities: npm run capabilities -->';

/** Returns the current page, and the page with the table that the suite makes. */
export async function capabilityPage(): Promise<{ is: string; due: string }> {
  const server = new FakeServer();
  const url = await server.start();
  try {
    const is = await readFile(PAGE, 'utf8');
    const begins = is.indexOf(MARK) + MARK.length;
    if (begins < MARK.length) throw new Error(`${PAGE} has no "${MARK}"`);
    const ends = is.indexOf('\n\n', begins);
    return { is, due: `${is.slice(0, begins)}\n${await capabilityTable(server, url)}${is.slice(ends)}` };
  } finally {
    server.close();
  }
}
