import type { Identity } from '../../../core/domain/run.ts';
import type { Caller, Scope } from '../caller.ts';

/** An API key as it is stored: without its secret. Times are milliseconds since the epoch. */
export interface ApiKey {
  id: string;
  /** The SHA-256 of the secret, in hexadecimal. */
  secretHash: string;
  /** The purpose of the key, for people. */
  name: string;
  scopes: readonly Scope[];
  /** The agents and programs that the key may start. Absent: all. */
  agents?: readonly string[];
  /** Whom the key acts for. Absent: it reaches all runs of the namespace. */
  principal?: Identity;
  createdAt: number;
  /** Absent: the key does not expire. */
  expiresAt?: number;
  revokedAt?: number;
}

/** True if the key is valid at `now`. A time that is no number counts as over. */
export function isValid({ expiresAt, revokedAt }: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || now < expiresAt);
}

/** Returns the caller that a key stands for. */
export function callerOf({ id, scopes, agents, principal, expiresAt }: ApiKey): Caller {
  return {
    id,
    scopes,
    ...(agents === undefined ? {} : { agents }),
    ...(principal === undefined ? {} : { principal }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}
