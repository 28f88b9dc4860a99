import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { studioFor } from '../../src/server/studio-elsewhere.ts';

let service: Server;
let address = '';
let seen: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];

beforeEach(async () => {
  seen = [];
  service = createServer(({ url, headers }, response) => {
    seen.push({ url, headers });
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'content-security-policy': "default-src 'none'; sandbox",
      'set-cookie': 'session=1',
    });
    response.end('<script>1</script>');
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});
afterEach(() => new Promise((resolve) => service.close(resolve)));

const asked = (handler: ReturnType<typeof studioFor>, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  handler(new Request(`http://127.0.0.1:8788${path}`, { headers }));

test('a file of a model runs no code in the browser: what keeps it from that is passed on, and no cookie is', async () => {
  const response = await asked(studioFor(`${address}/api`), '/v1/runs/r/files/0?token=t', { authorization: 'Bearer k', cookie: 'a=b' });
  expect(Object.fromEntries(response.headers)).toEqual({
    'cache-control': 'no-store',
    'content-disposition': 'attachment',
    'content-security-policy': "default-src 'none'; sandbox",
    'content-type': 'application/octet-stream',
    'x-content-type-options': 'nosniff',
  });
  expect(seen[0]).toMatchObject({ url: '/api/v1/runs/r/files/0?token=t', headers: { authorization: 'Bearer k' } });
  expect(seen[0]?.headers).not.toHaveProperty('cookie');
});

test('a path leaves neither the routes nor the prefix of the service', async () => {
  for (const path of ['/v1/../secret', '/v1/%2e%2e/secret', '/secret', '//other.example/v1/me'])
    expect([path, (await asked(studioFor(`${address}/api`), path)).status]).toEqual([path, 404]);
  expect(seen).toEqual([]);
});

test('pages of other origins, and other names of this machine, reach no service', async () => {
  const handler = studioFor(address);
  for (const headers of [{ host: 'rebound.example' }, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
    expect((await asked(handler, '/v1/me', headers)).status).toBe(403);
  expect(seen).toEqual([]);
});

test('a service that does not answer is said, with the reason', async () => {
  const response = await asked(studioFor('http://127.0.0.1:9'), '/v1/me');
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({
    code: 'server_unreachable',
    detail: expect.stringMatching(/^The service at http:\/\/127\.0\.0\.1:9 does not answer: (?!fetch failed)./) as string,
  });
});
