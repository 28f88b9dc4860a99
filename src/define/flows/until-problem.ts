import type { JsonObject } from '../../core/domain/json.ts';
import { Problems } from '../../core/program/check/problems.ts';
import { checkConditionSchema } from '../../core/program/check/values/check-schema.ts';

/** Returns why a schema cannot end a loop; undefined if it can. The workflow applies it, as it does the conditions of programs. */
export function untilProblem(until: JsonObject): string | undefined {
  const problems = new Problems(false);
  checkConditionSchema(until, '"until"', problems);
  const [first] = problems.problems;
  return first === undefined ? undefined : `${first.path}: ${first.message}`;
}
