import { type ErrorCode, LonghaulError } from '../../../core/domain/errors.ts';
import type { Scope } from '../caller.ts';

/** A refusal for which the caller is the reason, with the header that the response needs. */
export class AccessError extends LonghaulError {
  override readonly name = 'AccessError';
  readonly parts: { headers: { 'www-authenticate': string } };

  constructor(code: Extract<ErrorCode, 'unauthenticated' | 'forbidden'>, message: string, challenge: string) {
    super(code, message);
    this.parts = { headers: { 'www-authenticate': challenge } };
  }
}

const REALM = 'Bearer realm="longhaul"';

/** Returns the refusal of a request without credentials. */
export function missingCredentials(): AccessError {
  return new AccessError(
    'unauthenticated',
    'The request bears no credentials: send an API key or a token as "Authorization: Bearer <credentials>"',
    REALM,
  );
}

/** Returns the refusal of a request whose credentials are wrong, expired or revoked: the caller is not told which. */
export function wrongCredentials(): AccessError {
  const message = 'The credentials of the request are wrong, expired or revoked: send other ones';
  return new AccessError('unauthenticated', message, `${REALM}, error="invalid_token"`);
}

/** Returns the refusal of a token that its issuer has signed, and that says nothing that the service can act on: its issuer has to change it. */
export function unusableToken(why: string): AccessError {
  return new AccessError(
    'unauthenticated',
    `The issuer has signed the token, but it cannot be used: ${why}`,
    `${REALM}, error="invalid_token"`,
  );
}

/** Returns the refusal of a request that the caller's rights do not cover. `scope` is the one that would. */
export function forbidden(message: string, scope?: Scope): AccessError {
  const missing = scope === undefined ? '' : `, error="insufficient_scope", scope="${scope}"`;
  return new AccessError('forbidden', message, `${REALM}${missing}`);
}
