// The service inside Next.js, as app/api/[...path]/route.ts: it answers everything below /api/v1.
import { connect } from 'longhaul/client';
import { apiKeys, createHandler, fileApiKeys, type Handler } from 'longhaul/server';

export const runtime = 'nodejs';
export const dynamic = 'force-dynamic';

const authenticate = apiKeys(fileApiKeys({ file: './longhaul-keys.json' }));
let opened: Promise<Handler> | undefined;

async function open(): Promise<Handler> {
  return createHandler(await connect(), { prefix: '/api', authenticate });
}

async function answer(request: Request): Promise<Response> {
  // Not before the first request: `next build` loads this file, too.
  opened ??= open();
  try {
    const handler = await opened;
    return await handler(request);
  } catch (error) {
    opened = undefined; // No Temporal server has answered: the next request tries again.
    throw error;
  }
}

export { answer as DELETE, answer as GET, answer as HEAD, answer as OPTIONS, answer as POST, answer as PUT };
