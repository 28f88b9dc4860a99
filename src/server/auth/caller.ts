import { type ErrorCode, LonghaulError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import type { RunLimits } from '../../core/domain/limits.ts';
import type { Principal } from '../../core/domain/run.ts';

/** The rights of a caller. `admin` includes the others. */
export const SCOPES = ['runs:read', 'runs:write', 'approvals:decide', 'admin'] as const;

/** One right of a caller. */
export type Scope = (typeof SCOPES)[number];

/** The verified caller of a request. */
export interface Caller {
  /** Names the caller in logs: the id of an API key, or the subject of a token. Never a secret. */
  id: string;
  /** The identity on whose behalf the caller acts: it reaches the runs of that tenant and user alone. Absent: all runs of the namespace. */
  principal?: Principal;
  /** What the caller may do, such as `runs:read`. */
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

export function isScope(name: unknown): name is Scope {
  return SCOPES.some((scope) => scope === name);
}

/** True if the caller has the scope, or `admin`, which includes all. */
export function hasScope({ scopes }: Pick<Caller, 'scopes'>, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Throws `forbidden` unless the caller has the scope. */
export function requireScope(caller: Pick<Caller, 'id' | 'scopes'>, scope: Scope): void {
  if (hasScope(caller, scope)) return;
  throw forbidden(`The caller "${caller.id}" lacks the scope "${scope}": use credentials that have it`, scope);
}

/**
 * True if the caller may start the agent or program of that name. An undefined name stands for a document without a registered name:
 * only a caller that may start all may start it, because its content is the caller's own.
 */
export function mayStart({ agents, runId }: Pick<Caller, 'agents' | 'runId'>, name: string | undefined): boolean {
  if (runId !== undefined) return false;
  return agents === undefined || (name !== undefined && agents.includes(name));
}

/** Throws `forbidden` unless the caller may start the agent or program of that name. It does not say if there is one. */
export function requireStart(caller: Caller, name: string | undefined): void {
  if (mayStart(caller, name)) return;
  if (caller.runId !== undefined) throw forbidden(`The token is for the run "${caller.runId}": it starts nothing. Use other credentials`);
  const what = name === undefined ? 'programs as documents' : `"${name}"`;
  throw forbidden(`The caller "${caller.id}" may not start ${what}: use credentials whose agents include it`);
}

/**
 * Throws `forbidden` if the caller may not start the agent of a run: what is said to a run lets its agent work as a start does. `status` is
 * asked for only if the caller may not start all agents.
 */
export async function requireAgentOf(caller: Caller, status: () => Promise<{ agentName: string }>): Promise<void> {
  if (caller.agents !== undefined) requireStart(caller, (await status()).agentName);
}

/**
 * True unless the caller is bound to another run. An undefined id stands for a request about more than one run, such as a list. The
 * principal of a run is not checked here: the caller's client does that.
 */
export function mayReachRun({ runId: own }: Pick<Caller, 'runId'>, runId: string | undefined): boolean {
  return own === undefined || own === runId;
}

/**
 * Throws `run_not_found` if the caller is bound to another run: it is not told if that one exists. Throws `forbidden` for a request that is
 * about no single run.
 */
export function requireRun(caller: Pick<Caller, 'runId'>, runId: string | undefined): void {
  if (mayReachRun(caller, runId)) return;
  if (runId !== undefined) throw new LonghaulError('run_not_found', 'The token is for another run: use other credentials');
  throw forbidden(`The token is for the run "${caller.runId}" alone: use other credentials`);
}

/** The part of a run that says who may raise its limits. */
interface RaisedRun {
  runId: string;
  status: () => Promise<{ limits?: RunLimits }>;
}

/**
 * Throws `forbidden` for a raise by a caller that may not decide, if the run asks a person at its limits (`onLimit: 'ask'`): to raise a
 * limit is to approve what waits at it, or would wait later. Throws `busy` until the run has resolved its agent, which says if it asks.
 */
export async function requireRaise(caller: Caller, { runId, status }: RaisedRun): Promise<void> {
  if (hasScope(caller, 'approvals:decide')) return;
  const { limits } = await status();
  if (limits === undefined) throw new LonghaulError('busy', `Run "${runId}" has not resolved its agent yet: send it again in a moment`);
  if (limits.onLimit === 'ask') requireScope(caller, 'approvals:decide');
}

/** The rights that a caller hands on: those for one run. */
interface Narrowing {
  runId: string;
  scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/**
 * Returns a caller with a part of the rights: for one run, and never for longer than the caller's own. Throws `forbidden` for a scope
 * that the caller lacks, and for another run than it is bound to.
 */
export function narrowTo(caller: Caller, { runId, scopes, expiresAt }: Narrowing): Caller & { runId: string; expiresAt: number } {
  requireRun(caller, runId);
  for (const scope of scopes) requireScope(caller, scope);
  return {
    id: caller.id,
    ...defined({ principal: caller.principal }),
    scopes: [...new Set(scopes)],
    agents: [],
    runId,
    expiresAt: Math.min(expiresAt, caller.expiresAt ?? Infinity),
  };
}

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

/**
 * Combines several ways to verify a request: the first that knows the caller decides. If none does and one of them has failed, the
 * error of that one is thrown, because it might have known the caller.
 */
export function anyOf(...authenticators: readonly Authenticate[]): Authenticate {
  return async (request) => {
    const failures: unknown[] = [];
    for (const authenticate of authenticators) {
      try {
        const caller = await authenticate(request);
        if (caller !== undefined) return caller;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return undefined;
  };
}

/** Returns the credentials in `Authorization: Bearer …`; undefined without that header, or for another scheme. */
export function bearerCredentials(request: Request): string | undefined {
  return /^bearer +([^\s,]+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
}
