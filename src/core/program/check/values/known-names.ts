import type { JsonObject } from '../../../domain/json.ts';

/** Everything that a program can name outside of itself. A list that is absent is not checked. */
export interface KnownNames {
  /** The tools with the schemas of their arguments. */
  tools?: readonly { name: string; schema?: JsonObject }[];
  /** The agents with the schemas of their deps. */
  agents?: readonly { name: string; depsSchema?: JsonObject }[];
  /** The programs with the schemas of their input. */
  programs?: readonly { name: string; input?: JsonObject }[];
  /** The anchors. */
  anchors?: readonly { name: string }[];
  /** The names of the providers of models. */
  providers?: readonly string[];
  /** False: there is no memory. */
  hasMemory?: boolean;
  /** True: the lists are not complete. Names that they lack are no problem, and arguments are checked where the schema is known. */
  isPartial?: boolean;
}
