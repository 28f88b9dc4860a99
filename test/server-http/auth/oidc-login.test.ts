import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { createHandler, type Handler, jwt, type OidcOptions } from '../../../src/server/index.ts';
import { clientWithRun } from '../requests.ts';
import { type FakeIssuer, fakeIssuer } from './fake-credentials.ts';

/** An issuer with given answers for codes, and its requests. */
interface TokenIssuer {
  url: string;
  asked: { authorization: string | undefined; form: Record<string, string> }[];
  /** In addition to what every discovery document has. */
  discovery: Record<string, unknown>;
  tokens: () => Promise<Record<string, string>>;
  close(): Promise<void>;
}

let issuer: TokenIssuer;
let keys: FakeIssuer;
beforeEach(async () => {
  issuer = await tokenIssuer();
  keys = await fakeIssuer(issuer.url);
  issuer.tokens = async () => ({ access_token: await keys.token() });
});
afterEach(() => issuer.close());

async function tokenIssuer(): Promise<TokenIssuer> {
  const made: Omit<TokenIssuer, 'url' | 'close'> = { asked: [], discovery: {}, tokens: async () => ({}) };
  let url = '';
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer: url,
        jwks_uri: `${url}/keys`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        ...made.discovery,
      },
      '/keys': keys.keys,
    };
    const document = documents[request.url ?? ''];
    if (document === undefined)
      made.asked.push({ authorization: request.headers.authorization, form: Object.fromEntries(new URLSearchParams(body)) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document ?? (await made.tokens())));
  };
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(made, {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

function service(options: Partial<OidcOptions> = {}): Handler {
  return createHandler(clientWithRun({}), {
    authenticate: jwt({ issuer: issuer.url, audience: 'longhaul' }),
    oidc: { issuer: issuer.url, clientId: 'studio', ...options },
    onError: () => undefined,
  });
}

async function logIn(handler: Handler, address?: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const content = { code: 'c1', codeVerifier: 'v'.repeat(43), redirectUri: 'https://agents.example/studio' };
  const init = { method: 'POST', body: JSON.stringify(content), headers: { 'content-type': 'application/json' } };
  const response = await handler(new Request('http://localhost/v1/login/oidc', init), { address });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const GRANT = {
  grant_type: 'authorization_code',
  code: 'c1',
  code_verifier: 'v'.repeat(43),
  redirect_uri: 'https://agents.example/studio',
};

describe('the log-in at an issuer', () => {
  it.each(['http://id.acme.example', 'id.acme.example', 'ftp://id.acme.example'])('is refused for the URL "%s"', (url) => {
    expect(() => service({ issuer: url })).toThrow(UsageError);
    expect(() => service({ issuer: url })).toThrow(`"oidc.issuer" is "${url}"`);
  });

  it.each(['http://id.acme.example/token', undefined])('sends no code to the URL "%s" of the discovery document', async (url) => {
    issuer.discovery = { token_endpoint: url };
    expect(await logIn(service({ clientSecret: 's' }))).toMatchObject({ body: { code: 'authorization_failed' } });
    expect(issuer.asked).toEqual([]);
  });

  it('names a client without a secret in the form', async () => {
    expect(await logIn(service())).toMatchObject({ status: 200 });
    expect(issuer.asked).toEqual([{ authorization: undefined, form: { ...GRANT, client_id: 'studio' } }]);
  });

  it.each([undefined, ['client_secret_basic'], ['client_secret_post', 'client_secret_basic'], ['private_key_jwt'], 'client_secret_post'])(
    'sends the secret of the client in the header for the ways %j',
    async (ways) => {
      issuer.discovery = { token_endpoint_auth_methods_supported: ways };
      expect(await logIn(service({ clientId: 'studio:1', clientSecret: 'a b+c/ü%' }))).toMatchObject({ status: 200 });
      const basic = `Basic ${Buffer.from('studio%3A1:a+b%2Bc%2F%C3%BC%25').toString('base64')}`;
      expect(issuer.asked).toEqual([{ authorization: basic, form: GRANT }]);
    },
  );

  it('sends the secret of the client in the form to an issuer that takes it there alone', async () => {
    issuer.discovery = { token_endpoint_auth_methods_supported: ['none', 'client_secret_post'] };
    expect(await logIn(service({ clientSecret: 'a b' }))).toMatchObject({ status: 200 });
    expect(issuer.asked).toEqual([{ authorization: undefined, form: { ...GRANT, client_id: 'studio', client_secret: 'a b' } }]);
  });

  it('takes the token for the identity if that for access is refused for its form', async () => {
    const [unusable, good] = [await keys.token({ tenant: 5 }), await keys.token()];
    issuer.tokens = async () => ({ access_token: unusable, id_token: good });
    expect(await logIn(service())).toMatchObject({ status: 200, body: { token: good } });
    issuer.tokens = async () => ({ access_token: unusable, id_token: await keys.token({ aud: 'other' }) });
    const { status, body } = await logIn(service());
    expect([status, body['detail']]).toEqual([401, expect.stringContaining('the claim "tenant" is of type "number"')]);
  });

  it('says that no token is one of the service', async () => {
    issuer.tokens = async () => ({ access_token: 'opaque', id_token: await keys.token({ aud: 'studio' }) });
    const detail = 'The issuer has given no token that this service takes: check its audience';
    expect(await logIn(service())).toMatchObject({ status: 401, body: { code: 'unauthenticated', detail } });
  });

  it('of one address does not keep others from theirs', async () => {
    const handler = service();
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    issuer.tokens = async () => {
      await answered;
      return { access_token: await keys.token() };
    };
    const waiting = Array.from({ length: 20 }, () => logIn(handler, '192.0.2.1'));
    await expect.poll(() => issuer.asked.length).toBe(20);
    expect(await logIn(handler, '192.0.2.1')).toMatchObject({ body: { code: 'busy' } });
    const other = logIn(handler, '192.0.2.2');
    await expect.poll(() => issuer.asked.length).toBe(21);
    answer();
    expect((await Promise.all([...waiting, other])).map(({ status }) => status)).toEqual(Array.from({ length: 21 }, () => 200));
    expect(await logIn(handler, '192.0.2.1')).toMatchObject({ status: 200 });
  });
});
