import type { JsonObject } from '../json/json.ts';

/** Whom a run acts for. It is given at the start, fixed for the run, inherited by its children, and read-only for tools. */
export interface Principal {
  /** The customer of the operator that the user belongs to. */
  tenant?: string;
  user?: string;
  /** Facts about the user that tools rely on, such as roles. */
  claims?: JsonObject;
}
