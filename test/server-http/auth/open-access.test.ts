import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { describe, expect, it, vi } from 'vitest';
import { type Caller, createHandler, type HandlerOptions, nodeListener } from '../../../src/server/index.ts';
import { RunTokens } from '../../../src/server/auth/run-tokens.ts';
import { clientWithRun } from '../requests.ts';

const SECRET = 's'.repeat(32);
const MAKER: Caller = { id: 'maker', principal: 'all', scopes: ['admin'] };

const pause = vi.fn<() => Promise<object>>(async () => ({ version: 1, paused: true }));
const status = async (): Promise<object> => ({});

interface Asked {
  headers?: Record<string, string>;
  environment?: unknown;
  options?: HandlerOptions;
  path?: string;
}

/** Sends a request that would pause a run. */
async function asked({ headers = {}, environment, options = {}, path = '/v1/runs/r/pause' }: Asked): Promise<[number, boolean]> {
  pause.mockClear();
  const handler = createHandler(clientWithRun({ pause, status }), options);
  const sent = new Request(`http://localhost${path}`, { method: path.endsWith('/pause') ? 'POST' : 'GET', headers });
  const response = await handler(sent, environment);
  await response.body?.cancel();
  return [response.status, pause.mock.calls.length > 0];
}

/** Posts without a body on a separate connection, which ends with the response. Returns the status. */
function posted(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: false }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode));
    });
    sent.once('error', reject).end();
  });
}

const ofNode = (remoteAddress: string | undefined): object => ({ incoming: { socket: { remoteAddress } }, outgoing: {} });

const ofBun = (address: string | undefined): object => ({
  address: { address: '127.0.0.1', port: 80 },
  requestIP: () => (address === undefined ? null : { address }),
});

describe('a service without authentication', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])('answers the peer %s', async (address) => {
    for (const environment of [ofNode(address), ofBun(address), { address }, { remoteAddr: { hostname: address } }]) {
      expect(await asked({ environment })).toEqual([200, true]);
    }
  });

  it.each(['10.0.0.1', '::ffff:10.0.0.1', '::ffff:localhost', '2001:db8::1', 'fe80::1', ''])(
    'refuses the peer "%s", whatever its Host says',
    async (address) => {
      for (const environment of [ofNode(address), ofBun(address), { address }, { remoteAddr: { hostname: address } }]) {
        expect(await asked({ environment, headers: { host: 'localhost' } })).toEqual([403, false]);
      }
    },
  );

  it('refuses a peer whose socket no longer has an address', async () => {
    expect(await asked({ environment: ofNode(undefined) })).toEqual([403, false]);
    expect(await asked({ environment: ofBun(undefined) })).toEqual([403, false]);
  });

  it('checks the headers alone if the runtime gives no address', async () => {
    for (const environment of [undefined, null, {}, { params: Promise.resolve({}) }, 'text']) {
      expect(await asked({ environment })).toEqual([200, true]);
      expect(await asked({ environment, headers: { host: 'agents.acme.example' } })).toEqual([403, false]);
    }
  });

  it.each(['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Real-IP', 'Via'])(
    'refuses requests that a proxy has sent on, by "%s"',
    async (header) => {
      const headers = { [header]: '127.0.0.1' };
      expect(await asked({ headers, environment: ofNode('127.0.0.1') })).toEqual([403, false]);
      expect(await asked({ headers, environment: ofNode('10.0.0.1'), options: { authenticate: () => MAKER } })).toEqual([200, true]);
    },
  );

  it('reads the address from the socket of Node', async () => {
    const listener = nodeListener(createHandler(clientWithRun({ pause })));
    let address = '127.0.0.1';
    const server = createServer((incoming, response) => {
      Object.defineProperty(incoming.socket, 'remoteAddress', { value: address, configurable: true });
      listener(incoming, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/runs/r/pause`;
    const statuses: (number | undefined)[] = [];
    for (address of ['127.0.0.1', '192.0.2.7']) statuses.push(await posted(url));
    server.closeAllConnections();
    server.close();
    expect(statuses).toEqual([200, 403]);
  });
});

describe('a token for one run, sent to a service without authentication', () => {
  const tokens = new RunTokens({ secrets: [SECRET] });
  const bearing = (token: string): Asked => ({ headers: { authorization: `Bearer ${token}` }, options: { tokenSecrets: [SECRET] } });
  const made = async (caller: Caller = MAKER, by = tokens): Promise<string> => (await by.make(caller, { runId: 'r' })).token;

  it("has its own rights, and not the operator's", async () => {
    expect(await asked(bearing(await made()))).toEqual([403, false]);
    expect(await asked({ ...bearing(await made()), path: '/v1/runs/r' })).toEqual([200, false]);
  });

  it('is refused if it has expired or is forged, and without a secret to verify it', async () => {
    const expired = await made({ ...MAKER, expiresAt: Date.now() - 5_000 });
    const forged = await made(MAKER, new RunTokens({ secrets: ['t'.repeat(32)] }));
    const ofNothing = await new SignJWT({}).setProtectedHeader({ alg: 'HS256', typ: 'longhaul-run+jwt' }).sign(Buffer.from(SECRET));
    for (const token of [expired, forged, ofNothing, `${await made()}x`]) {
      expect(await asked(bearing(token))).toEqual([401, false]);
      expect(await asked({ path: `/v1/runs/r/stream?token=${token}`, options: { tokenSecrets: [SECRET] } })).toEqual([401, false]);
    }
    expect(await asked({ ...bearing(await made()), options: {} })).toEqual([401, false]);
    expect(await asked({ path: '/v1/runs/r/stream?token=x' })).toEqual([401, false]);
  });

  it('is distinguished from a key that a client of another service needs', async () => {
    expect(await asked({ headers: { authorization: 'Bearer sk-unused' } })).toEqual([200, true]);
  });
});
