import type { JsonObject } from '../json/json.ts';
import { depsProblem } from '../record/deps-problem.ts';

/** Whom a run acts for. It is given at the start, fixed for the run, inherited by its children, and read-only for tools. */
export interface Principal {
  /** The customer of the operator that the user belongs to. */
  tenant?: string;
  user?: string;
  /** Facts about the user that tools rely on, such as roles. */
  claims?: JsonObject;
}

/** The part of a principal that says who it is. Claims may differ from one run to the next. */
export type Identity = Pick<Principal, 'tenant' | 'user'>;

/** The same as it was given: a missing member may be there as undefined. */
type GivenIdentity = { [Name in keyof Identity]: Identity[Name] | undefined };

/** Returns the part of a principal that says who it is. */
export function identityOf({ tenant, user }: GivenIdentity): Identity {
  return { ...(tenant === undefined ? {} : { tenant }), ...(user === undefined ? {} : { user }) };
}

/** True for the same tenant and the same user. A missing one is the same only as a missing one. */
export function isSame(one: GivenIdentity, other: GivenIdentity): boolean {
  return one.tenant === other.tenant && one.user === other.user;
}

/** Describes why the claims of a principal cannot be recorded, as for deps: a text under the name of a credential, or a value that is no JSON. */
export function claimsProblem(principal: Principal | undefined): string | undefined {
  return principal?.claims === undefined ? undefined : depsProblem(principal.claims, 'principal.claims');
}
