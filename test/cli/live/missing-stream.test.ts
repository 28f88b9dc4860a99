import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { type LiveService, streamedItems, whyNoService } from '../../../src/cli/render/live.ts';

/** Returns why a service has no stream of a run. */
async function reasonOf(service: LiveService): Promise<string | undefined> {
  let reason: string | undefined;
  for await (const item of streamedItems(service, 'r', AbortSignal.timeout(10_000), (one) => (reason = one)))
    throw new Error(`The service streams ${item.type}`);
  return reason;
}

/** Returns why a service that answers with this status has no stream. */
async function refused(status: number): Promise<string | undefined> {
  const server = createServer((_, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    return (await reasonOf({ url: `http://127.0.0.1:${port}` }))?.replace(String(port), '<port>');
  } finally {
    server.close();
  }
}

test.each([
  [401, 'the service at http://127.0.0.1:<port> answers 401: set LONGHAUL_SERVICE_TOKEN to credentials that may read runs'],
  [403, 'the service at http://127.0.0.1:<port> answers 403: set LONGHAUL_SERVICE_TOKEN to credentials that may read runs'],
  [404, 'the service at http://127.0.0.1:<port> does not have the run: it may be connected to another Temporal server'],
  [503, 'the service at http://127.0.0.1:<port> answers 503'],
])('a service that answers %i is the reason why text is not shown live', async (status, reason) => {
  expect(await refused(status)).toBe(reason);
});

test('a service that is not running is, too', async () => {
  expect(await reasonOf({ url: 'http://127.0.0.1:1' })).toMatch(
    /^no service answers at http:\/\/127\.0\.0\.1:1 \(.+\): start longhaul serve, or set LONGHAUL_SERVICE$/,
  );
});

test('so is the environment', () => {
  expect(whyNoService({ LONGHAUL_SERVICE: 'none' })).toBe('LONGHAUL_SERVICE is "none"');
  expect(whyNoService({})).toContain('set LONGHAUL_SERVICE to the address of one');
});
