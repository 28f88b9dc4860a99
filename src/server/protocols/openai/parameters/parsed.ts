import type { z } from 'zod';
import { bodyProblems } from '../../../problems/schema-problems.ts';
import { OpenaiRefusal } from '../errors/openai-refusal.ts';

/** Returns a value as a schema reads it. Throws with the first parameter that does not fit. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const read = schema.safeParse(value, { reportInput: true });
  if (read.success) return read.data;
  const [first] = read.error.issues;
  const isMissing = first?.code === 'invalid_type' && first.input === undefined;
  throw new OpenaiRefusal(
    'invalid_request',
    'The request does not fit',
    { code: isMissing ? 'missing_required_parameter' : 'invalid_value' },
    { errors: bodyProblems(read.error.issues) },
  );
}
