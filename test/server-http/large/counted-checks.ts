import type { z } from 'zod';
import { chatParameters } from '../../../src/server/protocols/openai/chat-completions.ts';
import { responseParameters } from '../../../src/server/protocols/openai/responses.ts';
import { ROUTES } from '../../../src/server/routes/all-routes.ts';

/** Counts each application of a schema to a value, in all schemas inside it. */
function countChecks(root: z.core.$ZodType, count: () => void, seen: Set<unknown>): void {
  if (seen.has(root)) return;
  seen.add(root);
  const { run } = root._zod;
  root._zod.run = (payload, context) => (count(), run(payload, context));
  const inner = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('_zod' in value) countChecks(value as z.core.$ZodType, count, seen);
    else for (const member of Object.values(value)) inner(member);
  };
  for (const [name, part] of Object.entries(root._zod.def)) if (name !== 'checks') inner(part);
}

let checks = 0;

/** Returns the number of schemas that work has applied to values of request bodies, and what the work has returned. */
export async function checksOf<Result>(work: () => Promise<Result>): Promise<{ checks: number; result: Result }> {
  checks = 0;
  const result = await work();
  return { checks, result };
}

const counted = new Set<unknown>();
for (const schema of [...ROUTES.map(({ definition: { body } }) => body), chatParameters, responseParameters]) {
  if (schema !== undefined) countChecks(schema, () => void (checks += 1), counted);
}
