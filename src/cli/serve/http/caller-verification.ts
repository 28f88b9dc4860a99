import { UsageError } from '../../../core/domain/errors/error.ts';
import type { Authenticate } from '../../../server/auth/caller.ts';

/** Addresses that no other machine reaches. */
const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** The flags that decide who may call the service. */
export interface AuthenticationFlags {
  host: string;
}

/**
 * Returns the way in which the service verifies its callers; undefined if every caller is an operator. Throws a UsageError for an
 * address that other machines reach, if callers are not verified.
 */
export function serviceAuthentication({ host }: AuthenticationFlags): Authenticate | undefined {
  if (LOOPBACK.includes(host)) return undefined;
  throw new UsageError(
    `A service at "${host}" would do what everyone who reaches it asks: leave out --host, or embed createHandler from "longhaul/server" with "authenticate"`,
  );
}
