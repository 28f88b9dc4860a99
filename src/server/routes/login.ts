import { z } from 'zod';
import { defined } from '../../core/domain/json.ts';
import { isoTime } from '../../core/domain/time.ts';
import type { Authenticate, Caller } from '../auth/caller.ts';
import { RequestError } from '../problems.ts';
import { defineRoute, ok, type Route } from '../route.ts';
import { component, timestamp } from '../schemas/values.ts';

const ways = component(
  'LoginWays',
  z.object({
    oidc: z
      .object({
        authorizationEndpoint: z.string().describe('The address at the issuer to which a person is sent.'),
        clientId: z.string(),
        scope: z.string(),
        audience: z.string().exactOptional(),
      })
      .exactOptional()
      .describe('OpenID Connect, with the code flow and PKCE (S256). Absent: not available.'),
  }),
);

const waysRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/login',
    id: 'getLogin',
    tag: 'server',
    summary: 'Read how people log in',
    scope: 'public',
    responses: ok(ways, 'The ways to log in; empty if callers bring their own credentials.'),
    problems: ['authorization_failed'],
  },
  async ({ settings: { login } }) => ({ status: 200, body: defined({ oidc: await login?.start() }) }),
);

const text = (most: number): z.ZodString => z.string().min(1).max(most);

const code = component(
  'LoginCode',
  z.strictObject({
    code: text(4_000).describe('The code that the issuer passed when it sent the person back.'),
    codeVerifier: text(128).min(43).describe('The verifier whose challenge the request for the code had.'),
    redirectUri: text(2_000).describe('The address to which the issuer has sent the person back.'),
  }),
);

const loggedIn = component(
  'LoggedIn',
  z.object({
    token: z.string().describe('The token for the header `Authorization: Bearer`.'),
    expiresAt: timestamp.exactOptional().describe('When it expires. Absent: never.'),
  }),
);

const exchangeRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/login/oidc',
    id: 'logIn',
    tag: 'server',
    summary: 'Exchange the code of an issuer for a token',
    description: 'The service asks the issuer, so that a page needs to reach no other host. It keeps nothing.',
    scope: 'public',
    body: code,
    responses: ok(loggedIn, 'A token that this service takes.'),
    problems: ['unauthenticated', 'authorization_failed', 'busy', 'route_not_found'],
  },
  async ({ body, settings: { login, authenticate }, raw, peer }) => {
    if (login === undefined) throw new RequestError('route_not_found', 'The service has no log-in: use an API key or a token');
    let refusal: { cause: unknown } | undefined;
    for (const token of await login.tokensFor({ ...body, peer })) {
      try {
        const caller = await callerOf(token, authenticate, raw.url);
        if (caller !== undefined) return { status: 200, body: { token, ...expiry(caller) } };
      } catch (cause) {
        refusal ??= { cause };
      }
    }
    if (refusal !== undefined) throw refusal.cause;
    throw new RequestError('unauthenticated', 'The issuer has given no token that this service takes: check its audience');
  },
);

/** Returns the caller of a token; undefined if the service does not accept it: an issuer may issue several kinds. */
async function callerOf(token: string, authenticate: Authenticate, url: string): Promise<Caller | undefined> {
  return authenticate(new Request(url, { headers: { authorization: `Bearer ${token}` } }));
}

function expiry({ expiresAt }: Caller): { expiresAt?: string } {
  return expiresAt === undefined ? {} : { expiresAt: isoTime(expiresAt) };
}

/** The routes by which people log in. They need no credentials. */
export const LOGIN_ROUTES: readonly Route[] = [waysRoute, exchangeRoute];
