import { isJsonObject } from '../domain/json.ts';
import type { Principal } from '../domain/run.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { PRINCIPAL_SCHEMA } from './value-schemas.ts';

/**
 * Returns why a value is no principal whose names can be recorded: half of a surrogate pair would become another name. Undefined if it is
 * one.
 */
export function principalProblem(value: unknown): string | undefined {
  const problems = isJsonObject(value) ? checkJson(PRINCIPAL_SCHEMA, value) : [{ path: '', message: 'expected an object' }];
  if (problems.length > 0) return `"principal": ${problemsText(problems)}`;
  const { tenant = '', user = '' } = value as Principal;
  if (tenant.isWellFormed() && user.isWellFormed()) return undefined;
  return '"principal" has half of a surrogate pair in a name: write a text of whole characters';
}
