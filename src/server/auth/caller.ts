import type { Principal } from '../../core/domain/run.ts';

/** The rights of a caller. `admin` includes the others. */
export const SCOPES = ['runs:read', 'runs:write', 'approvals:decide', 'admin'] as const;

/** One right of a caller. */
export type Scope = (typeof SCOPES)[number];

/** The verified caller of a request. */
export interface Caller {
  /** Names the caller in logs: the id of an API key, or the subject of a token. Never a secret. */
  id: string;
  /** Whom the caller acts for: it reaches the runs of that tenant and user alone. Absent: all runs of the namespace. */
  principal?: Principal;
  scopes: readonly Scope[];
  /** The agents and programs that the caller may start. Absent: all. */
  agents?: readonly string[];
  /** The only run that the caller reaches. Present for a token that was made for one run. */
  runId?: string;
  /** The time at which the credentials expire, in milliseconds since the epoch: streams end then. Absent: never. */
  expiresAt?: number;
}

/** Returns the name under which a run records what a caller decides: the user that it acts for, or else its id. */
export function recordedName({ id, principal }: Pick<Caller, 'id' | 'principal'>): string {
  return principal?.user ?? id;
}

/** Verifies a request. Resolves with its caller, or with undefined if it bears no credentials or wrong ones. */
export type Authenticate = (request: Request) => Promise<Caller | undefined> | Caller | undefined;
