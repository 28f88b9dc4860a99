import type { JsonObject } from '../domain/json/json.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import type { Principal } from '../domain/run/principal.ts';

/** Bytes of JSON that a principal may have: it is carried through the run, and given to each child. */
const PRINCIPAL_BYTES = 8_000;

const NAME: JsonObject = { type: 'string', minLength: 1, maxLength: 200 };

/** The JSON Schema of a principal. */
export const PRINCIPAL_SCHEMA: JsonObject = {
  type: 'object',
  properties: { tenant: NAME, user: NAME, claims: { type: 'object' } },
  additionalProperties: false,
};

/** The JSON Schema of the part of a principal that says who it is. */
export const IDENTITY_SCHEMA: JsonObject = { type: 'object', properties: { tenant: NAME, user: NAME }, additionalProperties: false };

/** Returns why a principal is too large; empty if it is not. */
export function principalSizeProblem(principal: Principal | undefined): string[] {
  const bytes = principal === undefined ? 0 : jsonBytes(principal);
  return bytes > PRINCIPAL_BYTES
    ? [`principal: ${bytes} bytes of JSON, over ${PRINCIPAL_BYTES}: pass ids as claims, and let tools look up the rest`]
    : [];
}
