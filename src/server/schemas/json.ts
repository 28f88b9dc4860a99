import { z } from 'zod';
import { isJsonObject, type JsonValue } from '../../core/domain/json.ts';
import { component } from './component.ts';

/** Any JSON value: a body has nothing else. */
export const jsonValue = z
  .unknown()
  .refine((value) => value !== undefined, 'missing')
  .transform((value) => value as JsonValue);

/** Any JSON object. Its members are not visited: only its reader knows their shape. */
export const jsonObject = component(
  'JsonObject',
  z
    .unknown()
    .refine(isJsonObject, 'expected an object')
    .meta({ type: 'object', additionalProperties: {}, description: 'Any JSON object.' }),
);

/** A time span as requests write it. */
export const duration = component(
  'Duration',
  z
    .union([
      z.int().min(1),
      z
        .string()
        .regex(/^(?:[1-9]\d{0,9}(?:\.\d{1,9})?(?:ms|s|m)|[1-9]\d{0,5}(?:\.\d{1,9})?[hd]|0\.\d?[1-9]\d{0,9}[smhd])$/)
        .transform((text) => text as `${number}s`),
    ])
    .describe('A time span: milliseconds, or a text such as `500ms`, `30s`, `5m`, `1.5h`, `2d`.'),
);

/** A name or an id. Half of a surrogate pair cannot be recorded: it would become another name. No list finds a name with a NUL character. */
export const nameText = z
  .string()
  .min(1)
  .refine((text) => text.isWellFormed(), 'has half of a surrogate pair')
  .refine((text) => !text.includes('\0'), 'has a NUL character')
  .meta({ pattern: '^[^\\u0000]+$' });

/** The most bytes of an id that a Temporal server keeps. It answers a longer one with an error that clients try again. */
const MOST_ID_BYTES = 1_000;

/** The id of a run or a session, in a body, a path or a query. */
export const runIdText = nameText
  .max(MOST_ID_BYTES)
  .refine((text) => Buffer.byteLength(text) <= MOST_ID_BYTES, `has more than ${MOST_ID_BYTES} bytes in UTF-8`)
  .refine((text) => text.trim() !== '', 'is blank')
  .meta({ pattern: '^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$', description: 'At most 1,000 bytes in UTF-8.' });

/** The name of an agent or a program. It is the beginning of the id of a run that has none of its own. */
export const agentNameText = nameText.max(200);

/** A point in time, as ISO 8601 has it: `2026-11-26T22:06:35.123Z`. */
export const timestamp = z.string().meta({ format: 'date-time', description: 'ISO 8601 in UTC.' });

/** A time that may be missing. */
export const timestampOrNull = timestamp.nullable();

/** The version of an answer. */
export const version = z.literal(1);

/** The id of a message, a decision or a similar request, which the run accepts once. */
export const requestIdText = nameText.max(64).describe('An id of your own: the same id is accepted once. Default: the `Idempotency-Key`.');

/** The member `by` of a request to a run. The service does not read it: it knows the caller. */
export const ignoredBy = z.string().describe('Ignored: the service names the caller that it has verified.');
