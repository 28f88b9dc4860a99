import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type FakeIssuer, fakeIssuer } from '../../server-http/auth/fake-issuer.ts';

/** An issuer where people log in: everybody is `ada`, and is sent back with a code. */
export interface FakeLogin {
  url: string;
  /** The requested paths, without their queries. */
  asked: string[];
  /** The claims of the tokens that it gives. */
  claims: Record<string, unknown>;
  /** True: it sends people back with an error in the place of a code. */
  refuses: boolean;
  close(): Promise<void>;
}

interface Code {
  challenge: string | null;
  redirectUri: string | null;
  clientId: string | null;
}

/** Starts an issuer with the code flow and PKCE for one client. It gives a code for one token. */
export async function startFakeLogin(clientId: string): Promise<FakeLogin> {
  const codes = new Map<string, Code>();
  const login: Pick<FakeLogin, 'asked' | 'claims' | 'refuses'> = { asked: [], claims: {}, refuses: false };
  let url = '';
  let issuer: FakeIssuer | undefined;
  const tokenFor = async (form: URLSearchParams): Promise<object | undefined> => {
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const fits = code?.challenge === challenge && code.redirectUri === form.get('redirect_uri') && code.clientId === form.get('client_id');
    return fits && form.get('grant_type') === 'authorization_code'
      ? { access_token: await issuer?.token(login.claims), token_type: 'Bearer' }
      : undefined;
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    login.asked.push(pathname);
    const json = (body: unknown, status = 200): unknown =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer: url,
        jwks_uri: `${url}/jwks`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
      },
      '/jwks': issuer?.keys,
    };
    if (pathname in documents) return json(documents[pathname]);
    if (pathname === '/authorize') {
      const back = new URL(searchParams.get('redirect_uri') ?? '');
      const code = randomUUID();
      const isKnown = searchParams.get('client_id') === clientId && searchParams.get('code_challenge_method') === 'S256';
      if (login.refuses || !isKnown) back.searchParams.set('error', 'access_denied');
      else back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      codes.set(code, { challenge: searchParams.get('code_challenge'), redirectUri: searchParams.get('redirect_uri'), clientId });
      return response.writeHead(302, { location: back.href }).end();
    }
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      void tokenFor(new URLSearchParams(body)).then((found) => (found === undefined ? json({ error: 'invalid_grant' }, 400) : json(found)));
    });
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  issuer = await fakeIssuer(url);
  return Object.assign(login, {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
