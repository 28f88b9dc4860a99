import { describe, expect, it } from 'vitest';
import { errorCode } from '../../../src/core/domain/errors.ts';
import {
  type Caller,
  hasScope,
  isScope,
  mayReachRun,
  mayStart,
  missingCredentials,
  narrowTo,
  requireRun,
  requireScope,
  requireStart,
  SCOPES,
  wrongCredentials,
} from '../../../src/server/auth/caller.ts';
import { challengeOf } from './fake-credentials.ts';

const CALLER: Caller = { id: 'k1', principal: { tenant: 'acme' }, scopes: ['runs:read', 'runs:write'] };

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('scopes', () => {
  it("are the caller's, and all scopes for an admin", () => {
    expect(SCOPES.filter((scope) => hasScope(CALLER, scope))).toEqual(['chats:read', 'chats:write', 'runs:read', 'runs:write']);
    expect(SCOPES.filter((scope) => hasScope({ scopes: ['chats:read', 'chats:write'] }, scope))).toEqual(['chats:read', 'chats:write']);
    expect(SCOPES.filter((scope) => hasScope({ scopes: ['admin'] }, scope))).toEqual(SCOPES);
    expect(SCOPES.filter((scope) => hasScope({ scopes: [] }, scope))).toEqual([]);
    expect(['runs:read', 'runs', 'toString', undefined].filter(isScope)).toEqual(['runs:read']);
  });

  it('that are missing are a refusal that names them', () => {
    expect(() => requireScope(CALLER, 'runs:write')).not.toThrow();
    const error = thrownBy(() => requireScope(CALLER, 'approvals:decide'));
    expect(errorCode(error)).toBe('forbidden');
    expect(String(error)).toContain('"k1" lacks the scope "approvals:decide"');
    expect(challengeOf(error)).toBe('Bearer realm="longhaul", error="insufficient_scope", scope="approvals:decide"');
  });
});

describe('a caller', () => {
  it('starts its agents, and documents only if it may start all', () => {
    expect(mayStart(CALLER, 'clerk')).toBe(true);
    expect(mayStart(CALLER, undefined)).toBe(true);
    const limited: Caller = { ...CALLER, agents: ['clerk'] };
    expect(mayStart(limited, 'clerk')).toBe(true);
    for (const name of ['clerk2', 'Clerk', '', undefined]) expect(mayStart(limited, name)).toBe(false);
    expect(mayStart({ ...CALLER, agents: [] }, 'clerk')).toBe(false);
    expect(errorCode(thrownBy(() => requireStart(limited, 'other')))).toBe('forbidden');
    expect(String(thrownBy(() => requireStart(limited, undefined)))).toContain('may not start programs as documents');
  });

  it('that is bound to a run reaches that run alone, and starts nothing', () => {
    const bound: Caller = { ...CALLER, runId: 'r1' };
    expect(mayReachRun(bound, 'r1')).toBe(true);
    for (const other of ['r2', 'r1/child', '', undefined]) {
      expect(mayReachRun(bound, other)).toBe(false);
      expect(errorCode(thrownBy(() => requireRun(bound, other)))).toBe(other === undefined ? 'forbidden' : 'run_not_found');
    }
    expect(mayStart(bound, 'clerk')).toBe(false);
    expect(String(thrownBy(() => requireStart(bound, 'clerk')))).toContain('starts nothing');
    for (const runId of ['r1', undefined]) expect(mayReachRun(CALLER, runId)).toBe(true);
  });
});

describe('narrowed rights', () => {
  it('are for one run, without starts, and never for longer than the own ones', () => {
    expect(narrowTo(CALLER, { runId: 'r1', scopes: ['runs:read', 'runs:read'], expiresAt: 9 })).toEqual({
      id: 'k1',
      principal: { tenant: 'acme' },
      scopes: ['runs:read'],
      agents: [],
      runId: 'r1',
      expiresAt: 9,
    });
    expect(narrowTo({ ...CALLER, expiresAt: 5 }, { runId: 'r1', scopes: [], expiresAt: 9 }).expiresAt).toBe(5);
  });

  it('are refused for a scope that the caller lacks, and for another run than its own', () => {
    const more = { runId: 'r1', scopes: ['approvals:decide' as const], expiresAt: 9 };
    expect(errorCode(thrownBy(() => narrowTo(CALLER, more)))).toBe('forbidden');
    expect(errorCode(thrownBy(() => narrowTo({ ...CALLER, runId: 'r2' }, { ...more, scopes: [] })))).toBe('run_not_found');
    expect(narrowTo({ ...CALLER, scopes: ['admin'] }, more).scopes).toEqual(['approvals:decide']);
  });
});

describe('a challenge', () => {
  it('says if credentials were missing or wrong', () => {
    expect(challengeOf(missingCredentials())).toBe('Bearer realm="longhaul"');
    expect(challengeOf(wrongCredentials())).toBe('Bearer realm="longhaul", error="invalid_token"');
  });
});
