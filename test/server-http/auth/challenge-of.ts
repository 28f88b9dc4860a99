import { AccessError } from '../../../src/server/auth/caller.ts';

/** The value of the header `WWW-Authenticate` for an error; undefined for an error that is not a refusal of a caller. */
export function challengeOf(error: unknown): string | undefined {
  return error instanceof AccessError ? error.parts.headers['www-authenticate'] : undefined;
}
