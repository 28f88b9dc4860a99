// The pages and the service behind them, on one port.
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { LonghaulClient } from 'longhaul/client';
import { createHandler } from 'longhaul/server';
import { clerk } from '../chat/agents.ts';
import { bundledPages } from './page.ts';

/** A site that is served. */
export interface Site {
  url: string;
  close(): void;
}

/** Serves the pages and the chats on a port of this machine; 0: a free one. */
export async function serveSite(client: LonghaulClient, port: number): Promise<Site> {
  const pages = await bundledPages();
  // Chats may continue forever here. A service for others verifies its callers, and chooses limits: see docs/authentication.md.
  const handler = createHandler(client, { agents: [clerk], chats: () => ({ limits: { turns: null, totalTokens: null } }) });
  const server = createAdaptorServer({ fetch: async (request) => pages(request) ?? handler(request) });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
    },
  };
}
