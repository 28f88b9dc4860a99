import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactSign, exportJWK, generateKeyPair, type JSONWebKeySet, type JWTPayload, SignJWT } from 'jose';
import type { ApiKey, ApiKeyStore } from '../../../src/server/auth/api-keys.ts';
import { AccessError } from '../../../src/server/auth/caller.ts';

/** A request that bears credentials in the header for them; without a text, none. */
export function bearing(credentials?: string, url = 'http://localhost/v1/runs'): Request {
  return new Request(url, credentials === undefined ? {} : { headers: { authorization: `Bearer ${credentials}` } });
}

/** The value of the header `WWW-Authenticate` for an error; undefined for an error that is not a refusal of a caller. */
export function challengeOf(error: unknown): string | undefined {
  return error instanceof AccessError ? error.parts.headers['www-authenticate'] : undefined;
}

/** A store of API keys in memory. */
export function memoryApiKeys(): ApiKeyStore {
  const keys = new Map<string, ApiKey>();
  return {
    get: (id) => Promise.resolve(keys.get(id)),
    list: () => Promise.resolve([...keys.values()]),
    put: (key) => Promise.resolve(void keys.set(key.id, key)),
    revoke: (id, revokedAt) => {
      const key = keys.get(id);
      if (key !== undefined) keys.set(id, { ...key, revokedAt });
      return Promise.resolve(key !== undefined);
    },
  };
}

/** An issuer of tokens, with one pair of keys. */
export interface FakeIssuer {
  keys: JSONWebKeySet;
  /** Signs claims as a token of an hour for the audience `longhaul`. `header` and `claims` replace what it would write; undefined leaves out. */
  token(claims?: Record<string, unknown>, header?: { typ?: string; kid?: string }): Promise<string>;
  /** Signs claims as written: of several with one name, the last counts. */
  signed(json: string): Promise<string>;
}

/** Makes an issuer with its name. With `named: false`, neither its key nor its tokens have the name of the key. */
export async function fakeIssuer(issuer: string, { named = true } = {}): Promise<FakeIssuer> {
  const alg = 'ES256';
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const names = named ? { kid: 'k1' } : {};
  return {
    keys: { keys: [{ ...(await exportJWK(publicKey)), ...names, alg }] },
    token: (claims = {}, header = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const all = { iss: issuer, aud: 'longhaul', sub: 'ada', iat: now, exp: now + 3_600, ...claims };
      return new SignJWT(JSON.parse(JSON.stringify(all)) as JWTPayload).setProtectedHeader({ alg, ...names, ...header }).sign(privateKey);
    },
    signed: (json) => new CompactSign(new TextEncoder().encode(json)).setProtectedHeader({ alg, ...names }).sign(privateKey),
  };
}

/** A server of documents by their paths, with the number of requests for each. A path without a document is 404. */
export interface FakeSite {
  url: string;
  documents: Record<string, unknown>;
  requests: Record<string, number>;
  close(): Promise<void>;
}

export async function fakeSite(): Promise<FakeSite> {
  const site: Pick<FakeSite, 'documents' | 'requests'> = { documents: {}, requests: {} };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    site.requests[path] = (site.requests[path] ?? 0) + 1;
    const document = site.documents[path];
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(typeof document === 'string' ? document : JSON.stringify(document));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...site,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
