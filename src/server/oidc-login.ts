import { defined } from '../core/domain/defined.ts';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { isJsonObject, parsedJson } from '../core/domain/json.ts';
import { type OptionTable, requireKnown } from '../define/option-checks.ts';
import { discoveredUrl, discoveryDocument, smallText } from './auth/jwt.ts';
import { RequestError } from './problems.ts';

/** How people log in at an issuer of OpenID Connect, by the code flow with PKCE. */
export interface OidcOptions {
  /** The URL of the issuer. Its tokens are those that `authenticate` verifies: `jwt({ issuer, … })`. */
  issuer: string;
  /** The id that this service has as a client of the issuer. */
  clientId: string;
  /** The secret of the client, if the issuer demands one. It stays in the service. */
  clientSecret?: string;
  /** What is asked for, separated by spaces. Default `openid`. */
  scope?: string;
  /** The audience that is asked for, at an issuer that gives tokens for one. Default: none. */
  audience?: string;
}

const OPTIONS: OptionTable<OidcOptions> = { issuer: true, clientId: true, clientSecret: true, scope: true, audience: true };

/** What a page or a program needs to send a person to the issuer. */
export interface LoginStart {
  authorizationEndpoint: string;
  clientId: string;
  scope: string;
  audience?: string;
}

/** What the issuer has sent a person back with. */
export interface LoginCode {
  code: string;
  codeVerifier: string;
  redirectUri: string;
}

/** The time that an issuer has for an answer. */
const TIMEOUT_MS = 10_000;

/** The most codes that are exchanged at once: anyone may ask for it. */
const MOST_AT_ONCE = 20;

/** The log-in at an issuer. A code is exchanged by the service, so that a page needs to reach no other host. */
export class OidcLogin {
  readonly #options: OidcOptions;
  #document: ReturnType<typeof discoveryDocument> | undefined;
  #exchanges = 0;

  /** Throws a UsageError for options that name no client. */
  constructor(options: OidcOptions) {
    requireKnown('the handler: "oidc"', options, OPTIONS);
    for (const name of ['issuer', 'clientId'] as const)
      if (typeof options[name] !== 'string' || options[name] === '')
        throw new UsageError(`the handler: "oidc.${name}" is missing: write a text`);
    this.#options = options;
  }

  async start(): Promise<LoginStart> {
    const { clientId, scope = 'openid', audience } = this.#options;
    return { authorizationEndpoint: await this.#url('authorization_endpoint'), clientId, scope, ...defined({ audience }) };
  }

  /** Returns the tokens that the issuer gives for a code: the one for access first. Throws `unauthenticated`, `authorization_failed` and `busy`. */
  async tokensFor({ code, codeVerifier, redirectUri }: LoginCode): Promise<string[]> {
    if (this.#exchanges >= MOST_AT_ONCE) throw new LonghaulError('busy', 'Too many people log in at this moment: try again in a moment');
    this.#exchanges += 1;
    try {
      const { clientId, clientSecret } = this.#options;
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        code_verifier: codeVerifier,
        redirect_uri: redirectUri,
        client_id: clientId,
        ...defined({ client_secret: clientSecret }),
      });
      return await this.#ask(await this.#url('token_endpoint'), body);
    } finally {
      this.#exchanges -= 1;
    }
  }

  async #ask(url: string, body: URLSearchParams): Promise<string[]> {
    let status: number;
    let found: unknown;
    try {
      const init = { method: 'POST', body, headers: { accept: 'application/json' }, redirect: 'manual' } as const;
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
      ({ status } = response);
      found = response.body === null ? undefined : parsedJson(await smallText(response.body));
    } catch (cause) {
      throw this.#unavailable(cause);
    }
    if (status >= 500) throw this.#unavailable(new Error(`The issuer has answered with ${status}`));
    const answer = isJsonObject(found) ? found : {};
    // Not the words of the issuer: they may repeat the code.
    if (status !== 200) throw new RequestError('unauthenticated', 'The issuer has refused the log-in: begin it again');
    return [answer['access_token'], answer['id_token']].filter((token) => typeof token === 'string');
  }

  async #url(name: 'authorization_endpoint' | 'token_endpoint'): Promise<string> {
    this.#document ??= discoveryDocument(this.#options.issuer);
    try {
      return discoveredUrl(await this.#document, name);
    } catch (cause) {
      this.#document = undefined;
      throw this.#unavailable(cause);
    }
  }

  #unavailable(cause: unknown): LonghaulError {
    return new LonghaulError('authorization_failed', `The issuer "${this.#options.issuer}" does not answer: try again later`, { cause });
  }
}
