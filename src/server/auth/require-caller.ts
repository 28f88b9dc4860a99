import { errorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import { principalProblem } from '../../core/wire-schemas/principal-problem.ts';
import { missingCredentials, wrongCredentials } from './access/access-error.ts';
import { isScope } from './access/scopes.ts';
import type { Authenticate, Caller } from './caller.ts';

/**
 * Returns the caller of a request. Throws `unauthenticated` if it bears no credentials, or wrong ones, and `authorization_failed` if they
 * could not be verified: then the request may be sent again later. An error of `authenticate` that has a code is thrown as it is.
 */
export async function requireCaller(request: Request, authenticate: Authenticate): Promise<Caller> {
  const caller = await verified(request, authenticate);
  if (caller === undefined) throw bearsCredentials(request) ? wrongCredentials() : missingCredentials();
  checkCaller(caller);
  if (hasExpired(caller, Date.now())) throw wrongCredentials();
  return caller;
}

async function verified(request: Request, authenticate: Authenticate): Promise<Caller | undefined> {
  try {
    return await authenticate(request);
  } catch (cause) {
    if (errorCode(cause) !== undefined) throw cause;
    throw new LonghaulError('authorization_failed', 'The credentials of the request could not be verified: try again later', { cause });
  }
}

/** True if the credentials of the caller are over at `now`. A time that is no number counts as over. */
export function hasExpired({ expiresAt }: Pick<Caller, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && !(now < expiresAt);
}

function bearsCredentials(request: Request): boolean {
  return request.headers.has('authorization') || new URL(request.url).searchParams.has('token');
}

/** Checks a caller that code of the operator has made: a mistake there must not widen the rights. */
function checkCaller({ id, scopes, principal, agents }: Caller): void {
  const problem =
    typeof id !== 'string' || id === ''
      ? '"id" is no text'
      : !Array.isArray(scopes) || !scopes.every(isScope)
        ? '"scopes" is no list of scopes'
        : agents !== undefined && !Array.isArray(agents)
          ? '"agents" is no list'
          : problemOfPrincipal(principal);
  if (problem !== undefined) throw new LonghaulError('internal', `"authenticate" has returned a caller that is none: ${problem}`);
}

function problemOfPrincipal(principal: Caller['principal']): string | undefined {
  if (principal === undefined) return undefined;
  const problem = principalProblem(principal);
  if (problem !== undefined) return problem;
  return principal.tenant === undefined && principal.user === undefined ? '"principal" has no tenant and no user' : undefined;
}
