import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined, isJsonObject, type JsonObject, parsedJson } from '../core/domain/json.ts';
import { type OptionTable, requireKnown } from '../define/option-checks.ts';
import { discoveredUrl, discoveryDocument, isSafeUrl, smallText } from './auth/jwt.ts';
import { RequestError } from './problems.ts';

/** How people log in at an OpenID Connect issuer, with the code flow and PKCE. */
export interface OidcOptions {
  /** The URL of the issuer: https, or on this machine. `authenticate` must verify its tokens: `jwt({ issuer, … })`. */
  issuer: string;
  /** The client id of this service at the issuer. */
  clientId: string;
  /** The client secret, if the issuer requires one. It stays in the service. */
  clientSecret?: string;
  /** The requested scopes, separated by spaces. Default `openid`. */
  scope?: string;
  /** The requested audience, for an issuer that supports it. Default: none. */
  audience?: string;
}

const OPTIONS: OptionTable<OidcOptions> = { issuer: true, clientId: true, clientSecret: true, scope: true, audience: true };

/** What a page or a program needs to send a person to the issuer. */
interface LoginStart {
  authorizationEndpoint: string;
  clientId: string;
  scope: string;
  audience?: string;
}

/** The code that the issuer passed when it redirected the person back. */
interface LoginCode {
  code: string;
  codeVerifier: string;
  redirectUri: string;
  /** The address that the request comes from. Undefined if the runtime does not provide it. */
  peer: string | undefined;
}

/** How long an issuer may take to answer. */
const TIMEOUT_MS = 10_000;

/** The most codes exchanged at once, for one address and in total: anyone may request an exchange. */
const MOST_OF_ONE = 20;
const MOST_AT_ONCE = 200;

/** The login at an issuer. The service exchanges the code, so a page needs no access to another host. */
export class OidcLogin {
  readonly #options: OidcOptions;
  #document: ReturnType<typeof discoveryDocument> | undefined;
  #exchanges = 0;
  readonly #exchangesOf = new Map<string | undefined, number>();

  /** Throws a UsageError for options without a client, and for an issuer whose connection is not secure. */
  constructor(options: OidcOptions) {
    requireKnown('the handler: "oidc"', options, OPTIONS);
    for (const name of ['issuer', 'clientId'] as const)
      if (typeof options[name] !== 'string' || options[name] === '')
        throw new UsageError(`the handler: "oidc.${name}" is missing: write a text`);
    if (!isSafeUrl(options.issuer))
      throw new UsageError(`the handler: "oidc.issuer" is "${options.issuer}": people log in at an https URL`);
    this.#options = options;
  }

  async start(): Promise<LoginStart> {
    const { clientId, scope = 'openid', audience } = this.#options;
    return { authorizationEndpoint: (await this.#discovered('authorization_endpoint')).url, clientId, scope, ...defined({ audience }) };
  }

  /** Exchanges a code for tokens, the access token first. Throws `unauthenticated`, `authorization_failed` and `busy`. */
  async tokensFor({ code, codeVerifier, redirectUri, peer }: LoginCode): Promise<string[]> {
    const ofPeer = this.#exchangesOf.get(peer) ?? 0;
    if (ofPeer >= MOST_OF_ONE || this.#exchanges >= MOST_AT_ONCE)
      throw new LonghaulError('busy', 'Too many people log in at this moment: try again in a moment');
    this.#count(peer, 1);
    try {
      const { document, url } = await this.#discovered('token_endpoint');
      const { headers, form } = this.#credentials(document);
      const grant = { grant_type: 'authorization_code', code, code_verifier: codeVerifier, redirect_uri: redirectUri };
      return await this.#ask(url, headers, new URLSearchParams({ ...grant, ...form }));
    } finally {
      this.#count(peer, -1);
    }
  }

  #count(peer: string | undefined, by: 1 | -1): void {
    this.#exchanges += by;
    const ofPeer = (this.#exchangesOf.get(peer) ?? 0) + by;
    if (ofPeer === 0) this.#exchangesOf.delete(peer);
    else this.#exchangesOf.set(peer, ofPeer);
  }

  /** Returns the client's credentials: the secret in the header, unless the issuer only accepts it in the form. */
  #credentials(document: JsonObject): { headers: Record<string, string>; form: Record<string, string> } {
    const { clientId, clientSecret } = this.#options;
    if (clientSecret === undefined) return { headers: {}, form: { client_id: clientId } };
    const ways = document['token_endpoint_auth_methods_supported'];
    if (Array.isArray(ways) && ways.includes('client_secret_post') && !ways.includes('client_secret_basic'))
      return { headers: {}, form: { client_id: clientId, client_secret: clientSecret } };
    const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
    return { headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }, form: {} };
  }

  async #ask(url: string, headers: Record<string, string>, body: URLSearchParams): Promise<string[]> {
    let status: number;
    let found: unknown;
    try {
      const init = { method: 'POST', body, headers: { ...headers, accept: 'application/json' }, redirect: 'manual' } as const;
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
      ({ status } = response);
      found = response.body === null ? undefined : parsedJson(await smallText(response.body));
    } catch (cause) {
      throw this.#unavailable(cause);
    }
    if (status >= 500) throw this.#unavailable(new Error(`The issuer has answered with ${status}`));
    const answer = isJsonObject(found) ? found : {};
    // The issuer's message is left out: it may repeat the code.
    if (status !== 200) throw new RequestError('unauthenticated', 'The issuer has refused the log-in: begin it again');
    return [answer['access_token'], answer['id_token']].filter((token) => typeof token === 'string');
  }

  async #discovered(name: 'authorization_endpoint' | 'token_endpoint'): Promise<{ document: JsonObject; url: string }> {
    this.#document ??= discoveryDocument(this.#options.issuer);
    try {
      const document = await this.#document;
      return { document, url: discoveredUrl(document, name) };
    } catch (cause) {
      this.#document = undefined;
      throw this.#unavailable(cause);
    }
  }

  #unavailable(cause: unknown): LonghaulError {
    return new LonghaulError('authorization_failed', `The issuer "${this.#options.issuer}" does not answer: try again later`, { cause });
  }
}

/** Form-encodes a part of the client credentials, as OAuth requires before they are joined. */
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
