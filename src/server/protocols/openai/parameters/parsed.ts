import type { z } from 'zod';
import { bodyProblems } from '../../../problems/schema-problems.ts';
import { OpenaiRefusal } from '../errors/openai-refusal.ts';

/** Returns a value as a schema reads it. Throws with the first parameter that does not fit. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const isMissing = read.error.issues[0]?.code === 'invalid_type' && read.error.issues[0].input === undefined;
  throw new OpenaiRefusal(
    'invalid_request',
    'The request does not fit',
    { code: isMissing ? 'missing_required_parameter' : 'invalid_value' },
    { errors: bodyProblems(read.error.issues) },
  );
}
