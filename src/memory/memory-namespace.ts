import type { Principal } from '../core/domain/run.ts';

/** Whom a memory belongs to, and which part of it is meant. */
export interface MemoryOwner {
  principal?: Principal | undefined;
  /** The name of the agent, or the name that several agents share. */
  agent?: string | undefined;
  /** The scope of steps of programs. */
  scope?: string | undefined;
}

/**
 * Returns the text that all namespaces of a user begin with, those of all agents and programs, and no namespace of another owner: for
 * `forgetNamespaces`.
 */
export function memoryOwner({ tenant, user }: Pick<Principal, 'tenant' | 'user'>): string {
  return `${JSON.stringify([tenant ?? null, user ?? null]).slice(0, -1)},`;
}

/**
 * Returns the namespace of a memory: another one for each tenant, user, agent and scope, with any characters in their names. The claims of
 * the principal are no part of it, because they change. Owners without a principal share one namespace for each agent.
 */
export function memoryNamespace({ principal = {}, agent, scope }: MemoryOwner): string {
  return JSON.stringify([principal.tenant ?? null, principal.user ?? null, agent ?? null, scope ?? null]);
}
