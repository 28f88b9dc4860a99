import { arriveAt } from './address.ts';
import { ask, takeKey } from './api.ts';
import type { Operations } from './api-types.ts';
import { base64url, randomText } from './random.ts';
import { TEXTS } from './texts.ts';

// The log-in at an issuer of OpenID Connect: the code flow with PKCE. The page sends its reader to the issuer and gets a code back, for which
// the service gets a token. The token is never part of an address.

type Oidc = NonNullable<Operations['GET /v1/login']['answer']['oidc']>;

/** What the page has to know again when its reader comes back. */
interface Begun {
  state: string;
  verifier: string;
  /** The place of the reader. */
  place: string;
  keep: boolean;
}

const BEGUN = 'longhaul-studio-login';

/** The address of the page, to which the issuer sends the reader back. */
function ownAddress(): string {
  return `${location.origin}${location.pathname}`;
}

/** Sends the reader to the issuer. */
export async function beginLogin(oidc: Oidc, { keep }: { keep: boolean }): Promise<void> {
  // Browsers have no digests for pages that come without encryption from another machine.
  if (!isSecureContext) throw new Error(TEXTS.loginNeedsHttps);
  const begun: Begun = { state: randomText(), verifier: randomText(), place: location.hash, keep };
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(begun.verifier));
  const url = new URL(oidc.authorizationEndpoint);
  const { clientId: client_id, scope, audience } = oidc;
  const asked = {
    response_type: 'code',
    client_id,
    scope,
    redirect_uri: ownAddress(),
    state: begun.state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
    ...(audience === undefined ? {} : { audience }),
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  if (!/^https?:$/.test(url.protocol)) throw new Error(TEXTS.loginFailed);
  sessionStorage.setItem(BEGUN, JSON.stringify(begun));
  location.assign(url.href);
}

/** Takes what the issuer has sent the reader back with, if it has, out of the address. Throws if that was no log-in that this tab has begun. */
export async function endLogin(): Promise<void> {
  const answer = new URLSearchParams(location.search);
  const begun = sessionStorage.getItem(BEGUN);
  sessionStorage.removeItem(BEGUN);
  const [code, state] = [answer.get('code'), answer.get('state')];
  if (state === null) return;
  const { state: expected, verifier, place = '', keep } = begun === null ? ({} as Partial<Begun>) : (JSON.parse(begun) as Begun);
  arriveAt(place);
  if (expected === undefined || verifier === undefined || state !== expected) throw new Error(TEXTS.loginNotBegun);
  if (code === null) throw new Error(TEXTS.loginRefused(answer.get('error') ?? ''));
  const body = { code, codeVerifier: verifier, redirectUri: ownAddress() };
  const { token } = await ask('POST /v1/login/oidc', { body });
  takeKey(token, { keep: keep === true });
}
