import type { ApprovalView, PendingApproval } from '../../core/domain/approvals.ts';
import { type ErrorCode, LonghaulError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import type { RunLimits } from '../../core/domain/limits.ts';
import { isSameIdentity, type Principal } from '../../core/domain/run.ts';

/** The rights of a caller. `admin` includes the others, and `runs:read` and `runs:write` include those of chats. */
export const SCOPES = ['chats:read', 'chats:write', 'runs:read', 'runs:write', 'approvals:decide', 'admin'] as const;

/** One right of a caller. */
export type Scope = (typeof SCOPES)[number];

/** The verified caller of a request. */
export interface Caller {
  /** Names the caller in logs: the id of an API key, or the subject of a token. Never a secret. */
  id: string;
  /** The name that people know the caller by, such as the name of an API key: decisions are recorded with it. Default: the id. */
  name?: string;
  /** The identity on whose behalf the caller acts: it can access only runs of this tenant and user. `'all'`: all runs of the namespace. */
  principal: Principal | 'all';
  /** What the caller may do, such as `runs:read`. */
  scopes: readonly Scope[];
  /** The agents and programs that the caller may start, and whose runs it may change. Absent: all. */
  agents?: readonly string[];
  /** The only run that the caller can access. Present for a run token. */
  runId?: string;
  /** When the credentials expire, in milliseconds since the epoch: streams end then. Absent: never. */
  expiresAt?: number;
}

/** The fields of a caller. The compiler reports a missing and an unknown one. */
export const CALLER_FIELDS: Readonly<Record<keyof Caller, true>> = {
  id: true,
  name: true,
  principal: true,
  scopes: true,
  agents: true,
  runId: true,
  expiresAt: true,
};

/**
 * Describes a field of an object from the operator's code that is present and undefined, such as the `agents` of a user who has none: its
 * absence means all.
 */
export function undefinedRight<Given extends object>(given: Given, names: readonly (keyof Given & string)[]): string | undefined {
  const name = names.find((one) => Object.hasOwn(given, one) && given[one] === undefined);
  return name === undefined ? undefined : `"${name}" is undefined: give it, or leave "${name}" out for a caller without that restriction`;
}

/** Describes rights that do not say whose runs they are about. */
export function missingPrincipal(given: unknown): string {
  const got = given === undefined ? 'is missing' : `is ${JSON.stringify(given)}`;
  return `"principal" ${got}: write { tenant, user } of the caller, or 'all' if it may access the runs of all tenants and users`;
}

/** Returns the principal of a caller; undefined for one that can access all runs. */
export function principalOf({ principal }: Pick<Caller, 'principal'>): Principal | undefined {
  return principal === 'all' ? undefined : principal;
}

/** True if both callers reach the same runs. */
export function haveSamePrincipal(one: Pick<Caller, 'principal'>, other: Pick<Caller, 'principal'>): boolean {
  if (one.principal === 'all' || other.principal === 'all') return one.principal === other.principal;
  return isSameIdentity(one.principal, other.principal);
}

/** The most characters of a caller's name that are recorded next to its id: a run takes 200 for both. */
const LONGEST_NAME = 150;

/** Returns the name to record for a caller's decisions: the user on whose behalf it acts, or else its own name, with its id. */
export function recordedName({ id, name, ...caller }: Pick<Caller, 'id' | 'name' | 'principal'>): string {
  return principalOf(caller)?.user ?? (name === undefined ? id : `${name.slice(0, LONGEST_NAME).toWellFormed()} (${id})`);
}

/** Verifies a request. Resolves with its caller, or with undefined if its credentials are missing or wrong. */
export type Authenticate = (request: Request) => Promise<Caller | undefined> | Caller | undefined;

export function isScope(name: unknown): name is Scope {
  return SCOPES.some((scope) => scope === name);
}

/** The scopes that include another one, in addition to `admin`, which includes all. */
const WIDER: Partial<Record<Scope, Scope>> = { 'chats:read': 'runs:read', 'chats:write': 'runs:write' };

/** True if the caller has the scope, or one that includes it. */
export function hasScope({ scopes }: Pick<Caller, 'scopes'>, scope: Scope): boolean {
  const wider = WIDER[scope];
  return scopes.includes(scope) || (wider !== undefined && scopes.includes(wider)) || scopes.includes('admin');
}

/** Throws `forbidden` unless the caller has the scope. */
export function requireScope(caller: Pick<Caller, 'id' | 'scopes'>, scope: Scope): void {
  if (hasScope(caller, scope)) return;
  throw forbidden(`The caller "${caller.id}" lacks the scope "${scope}": use credentials that have it`, scope);
}

/**
 * True if the caller may decide about a waiting call of this kind. A caller who writes to chats and to no runs is the user of a page, who
 * decides about calls of tools and questions only.
 */
export function decidesAbout(caller: Pick<Caller, 'scopes'>, kind: PendingApproval['kind']): boolean {
  if (!hasScope(caller, 'approvals:decide')) return false;
  return isForUsers(kind) || !isUserOfPage(caller);
}

/** True for a kind of call about which the user of a chat may decide: the outcome of a call and a limit are for its operators. */
export function isForUsers(kind: PendingApproval['kind']): boolean {
  return kind === 'tool' || kind === 'question';
}

function isUserOfPage(caller: Pick<Caller, 'scopes'>): boolean {
  return hasScope(caller, 'chats:write') && !hasScope(caller, 'runs:write');
}

/** The calls that wait for a decision, in a run and below it. */
interface WaitingCalls {
  runId: string;
  approvals: () => Promise<{ pending: readonly Pick<ApprovalView, 'kind' | 'callId' | 'runId' | 'digest'>[] }>;
}

/** Throws `forbidden` if the caller is the user of a page, and the call is none that waits for a decision of users. */
export async function requireDecision(caller: Caller, run: WaitingCalls, about: { callId: string; digest: string }): Promise<void> {
  if (!isUserOfPage(caller)) return;
  const { pending } = await run.approvals();
  const waiting = pending.find(({ callId, digest }) => callId === about.callId && digest === about.digest);
  if (waiting !== undefined && decidesAbout(caller, waiting.kind)) return;
  const why = waiting === undefined ? 'no such call waits for a decision of a user' : `it is a decision of kind "${waiting.kind}"`;
  throw forbidden(
    `The caller "${caller.id}" may not decide about call "${about.callId}": ${why}. Use credentials that also have "runs:write"`,
  );
}

/**
 * True if the caller may start the agent or program with this name. An undefined name means a program document:
 * only a caller that may start everything may start it, because its content is the caller's.
 */
export function mayStart({ agents, runId }: Pick<Caller, 'agents' | 'runId'>, name: string | undefined): boolean {
  if (runId !== undefined) return false;
  return agents === undefined || (name !== undefined && agents.includes(name));
}

/** Throws `forbidden` unless the caller may start the agent or program with this name. Does not reveal whether it exists. */
export function requireStart(caller: Caller, name: string | undefined): void {
  if (mayStart(caller, name)) return;
  if (caller.runId !== undefined) throw forbidden(`The token is for the run "${caller.runId}": it starts nothing. Use other credentials`);
  const what = name === undefined ? 'programs as documents' : `"${name}"`;
  throw forbidden(`The caller "${caller.id}" may not start ${what}: use credentials whose agents include it`);
}

/** Throws `forbidden` for a request that changes runs of all agents, such as those of a user, if the caller may only start some. */
export function requireAllAgents({ id, agents }: Pick<Caller, 'id' | 'agents'>): void {
  if (agents === undefined) return;
  throw forbidden(`The caller "${id}" may change only runs of its agents, and this is about runs of all: use credentials without "agents"`);
}

/**
 * True unless the caller is restricted to another run. An undefined id means a request about more than one run, such as a list. The
 * principal of a run is not checked here: the caller's client does that.
 */
export function mayReachRun({ runId: own }: Pick<Caller, 'runId'>, runId: string | undefined): boolean {
  return own === undefined || own === runId;
}

/**
 * Throws `run_not_found` if the caller is restricted to another run, without revealing whether the run exists. Throws `forbidden` for a
 * request about more than one run.
 */
export function requireRun(caller: Pick<Caller, 'runId'>, runId: string | undefined): void {
  if (mayReachRun(caller, runId)) return;
  if (runId !== undefined) throw new LonghaulError('run_not_found', 'The token is for another run: use other credentials');
  throw forbidden(`The token is only for the run "${caller.runId}": use other credentials`);
}

/** The facts about a run that decide who may raise its limits. */
interface RaisedRun {
  runId: string;
  status: () => Promise<{ limits?: RunLimits }>;
}

/**
 * Throws `forbidden` if a caller that may not decide raises limits of a run that asks a person at its limits (`onLimit: 'ask'`): raising
 * a limit approves what waits for it, now or later. Throws `busy` until the run has resolved its agent, which says whether it asks.
 */
export async function requireRaise(caller: Caller, { runId, status }: RaisedRun): Promise<void> {
  if (hasScope(caller, 'approvals:decide')) return;
  const { limits } = await status();
  if (limits === undefined) throw new LonghaulError('busy', `Run "${runId}" has not resolved its agent yet: send it again in a moment`);
  if (limits.onLimit === 'ask') requireScope(caller, 'approvals:decide');
}

/** The rights that a caller delegates for one run. */
interface Narrowing {
  runId: string;
  scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/**
 * Returns a caller with reduced rights: for one run, and never for longer than the original. Throws `forbidden` for a scope
 * that the caller lacks, and for a run that it cannot access.
 */
export function narrowTo(caller: Caller, { runId, scopes, expiresAt }: Narrowing): Caller & { runId: string; expiresAt: number } {
  requireRun(caller, runId);
  for (const scope of scopes) requireScope(caller, scope);
  if (scopes.includes('approvals:decide') && isUserOfPage(caller))
    throw forbidden(
      `The caller "${caller.id}" decides only for a user, and a token decides about all calls: use credentials with "runs:write"`,
    );
  return {
    id: caller.id,
    ...defined({ name: caller.name }),
    principal: caller.principal,
    scopes: [...new Set(scopes)],
    agents: [],
    runId,
    expiresAt: Math.min(expiresAt, caller.expiresAt ?? Infinity),
  };
}

/** A refusal because of the caller's credentials or rights, with the header that the response needs. */
export class AccessError extends LonghaulError {
  override readonly name = 'AccessError';
  readonly parts: { headers: { 'www-authenticate': string } };

  constructor(code: Extract<ErrorCode, 'unauthenticated' | 'forbidden'>, message: string, challenge: string) {
    super(code, message);
    this.parts = { headers: { 'www-authenticate': challenge } };
  }
}

const REALM = 'Bearer realm="longhaul"';

/** Returns the error for a request without credentials. */
export function missingCredentials(): AccessError {
  return new AccessError(
    'unauthenticated',
    'The request bears no credentials: send an API key or a token as "Authorization: Bearer <credentials>"',
    REALM,
  );
}

/** Returns the error for wrong, expired or revoked credentials: the caller does not learn which. */
export function wrongCredentials(): AccessError {
  const message = 'The credentials of the request are wrong, expired or revoked: send other ones';
  return new AccessError('unauthenticated', message, `${REALM}, error="invalid_token"`);
}

/** Returns the error for a token that is signed by the issuer but unusable for the service: the issuer has to change it. */
export function unusableToken(why: string): AccessError {
  return new AccessError(
    'unauthenticated',
    `The issuer has signed the token, but it cannot be used: ${why}`,
    `${REALM}, error="invalid_token"`,
  );
}

/** Returns the error for a request that the caller's rights do not cover. `scope` is the scope that would. */
export function forbidden(message: string, scope?: Scope): AccessError {
  const missing = scope === undefined ? '' : `, error="insufficient_scope", scope="${scope}"`;
  return new AccessError('forbidden', message, `${REALM}${missing}`);
}

/**
 * Combines several authenticators: the first that knows the caller decides. If none does and one of them has failed, its
 * error is thrown, because it might have known the caller.
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

/** Returns the credentials in `Authorization: Bearer …`; undefined without this header, or for another scheme. */
export function bearerCredentials(request: Request): string | undefined {
  return /^bearer +([^\s,]+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
}
