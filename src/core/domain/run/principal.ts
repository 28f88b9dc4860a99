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

/** Describes why the claims of a principal cannot be recorded, as for deps: a text under the name of a credential, or a value that is no JSON. */
export function claimsProblem(principal: Principal | undefined): string | undefined {
  return principal?.claims === undefined ? undefined : depsProblem(principal.claims, 'principal.claims');
}
