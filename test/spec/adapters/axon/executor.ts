import type { JsonObject, JsonValue } from '../../../../src/core/domain/json/json.ts';
import { interpolate, type Lookup } from '../../../../src/core/program/references/interpolate.ts';
import { outputAt } from '../../../../src/core/program/references/value-at.ts';
import type { Operation } from '../adapter.ts';
import { object, text } from '../fields.ts';

/** Suite `axon.executor`: programs. */
export const axonExecutorOperations: Readonly<Record<string, Operation>> = {
  interpolate: { input: ['prompt', 'results'], expect: [], perform: interpolatePrompt },
};

/** AXON keeps references that lead to no value. */
function interpolatePrompt({ prompt, results }: JsonObject): JsonValue {
  const resolved = interpolate(text(prompt), lookupIn(object(results ?? {})), { lenient: true });
  if (!resolved.ok) throw new Error(resolved.problem);
  return resolved.value;
}

function lookupIn(results: JsonObject): Lookup {
  return ({ path: [step, ...rest] }) => (Object.hasOwn(results, step) ? outputAt(results[step] ?? null, rest) : { found: false });
}
