import { decodeProtectedHeader } from 'jose';
import { bearerCredentials } from '../bearer-credentials.ts';

/** The `typ` of run tokens. */
export const RUN_TOKEN_TYPE = 'longhaul-run+jwt';

/** True for a request with a token for one run, valid or not. */
export function bearsRunToken(request: Request): boolean {
  const bearer = bearerCredentials(request);
  return tokenInUrl(request) !== undefined || (bearer !== undefined && typeOf(bearer) === RUN_TOKEN_TYPE);
}

/** Returns the token in the URL of a request; undefined if the request may not have one there. */
export function tokenInUrl({ method, url }: Request): string | undefined {
  if (method !== 'GET') return undefined;
  const { pathname, searchParams } = new URL(url);
  return pathname.endsWith('/stream') ? (searchParams.get('token') ?? undefined) : undefined;
}

function typeOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).typ;
  } catch {
    return undefined;
  }
}
