import { z } from 'zod';
import type { ErrorCode } from '../../core/domain/errors.ts';
import type { ResponseDefinition } from '../routing/route.ts';
import { runIdText } from '../schemas/json.ts';

/** The parameters of the path of a run. */
export const runParams = z.object({ runId: runIdText.describe('The id of the run.') });

/** The parameters of the path of a session. */
export const sessionParams = z.object({ sessionId: runIdText.describe('The id of the session.') });

/** A whole number in a path or a query, which is a text: digits alone. An empty text is no number, and neither is `1e3`. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): z.ZodType<number> {
  const read = (text: unknown): unknown => (typeof text === 'string' && /^-?\d{1,16}$/.test(text) ? Number(text) : text);
  return z.preprocess(read, z.int().min(min).max(max));
}

/** A number of things in a query. */
export const pageSize = wholeNumber(1, 1_000);

/** A switch in a query. */
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** The refusals of routes that read a run. */
export const READ_PROBLEMS: readonly ErrorCode[] = ['run_not_found', 'not_a_run', 'history_removed'];

/** The refusals of routes that send a run a request. */
export const REQUEST_PROBLEMS: readonly ErrorCode[] = ['run_not_found', 'run_ended', 'busy', 'wait_timeout'];

/** The only response of a route: JSON of that schema. */
export function ok(schema: z.ZodType, description: string): Readonly<Record<number, ResponseDefinition>> {
  return { 200: { description, schema } };
}
