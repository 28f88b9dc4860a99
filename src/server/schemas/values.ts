import { z } from 'zod';
import { CONTENT_ITEM, SPILLED_CONTENT } from '../../core/domain/content.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/domain/json.ts';
import { RUN_STATUS } from '../../core/domain/run.ts';
import { JSON_OBJECT, type Shape } from '../../core/domain/shape.ts';
import type { SavedContext } from '../../core/saved/saved-context.ts';
import { expecting } from './expecting.ts';

/** Any JSON value: a body has nothing else. */
export const jsonValue = z
  .unknown()
  .refine((value) => value !== undefined, 'missing')
  .transform((value) => value as JsonValue);

/** The schemas that the OpenAPI document names, by their names. */
export const COMPONENTS = z.registry<{ id: string }>();

/** Any JSON object. Its members are not visited: only its reader knows their shape. */
export const jsonObject = component(
  'JsonObject',
  z
    .unknown()
    .refine(isJsonObject, 'expected an object')
    .meta({ type: 'object', additionalProperties: {}, description: 'Any JSON object.' }),
);

const TIME_SPAN = 'milliseconds, or a time span such as "30s", "5m", "1.5h" or "2d"';

/** A time span as requests write it. */
export const duration = component(
  'Duration',
  z
    .union(
      [
        z.int().min(1),
        z
          .string()
          .regex(/^(?:[1-9]\d{0,9}(?:\.\d{1,9})?(?:ms|s|m)|[1-9]\d{0,5}(?:\.\d{1,9})?[hd]|0\.\d?[1-9]\d{0,9}[smhd])$/)
          .transform((text) => text as `${number}s`),
      ],
      expecting(TIME_SPAN),
    )
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

/** The name of an agent or a program. It is the prefix of run ids that are generated. */
export const agentNameText = nameText.max(200);

/** A point in time, as ISO 8601 has it: `2026-11-26T22:06:35.123Z`. */
export const timestamp = z.string().meta({ format: 'date-time', description: 'ISO 8601 in UTC.' });

/** The id of a message, a decision or a similar request, which the run accepts once. */
export const requestIdText = nameText.max(64).describe('An id of your own: the same id is accepted once. Default: the `Idempotency-Key`.');

/** The member `by` of a request to a run. The service does not read it: it knows the caller. */
export const ignoredBy = z.string().describe('Ignored: the service names the caller that it has verified.');

/** The most problems of one request: a response lists no more, so no more are looked for. */
export const MOST_PROBLEMS = 50;

/** The most entries of lists in requests, by what they hold. */
export const MOST = {
  /** Items of a conversation. */
  items: 3_000,
  /** Parts of one message, calls of one answer, and rules of one kind. */
  parts: 1_000,
  /** Members of an object whose names the caller chooses. */
  members: 1_000,
  /** Words, such as tags: what starts a run takes 20. */
  words: 100,
} as const;

interface Bounds {
  max: number;
  min?: number;
}

/**
 * A list with a bound. Its length is checked before any item, and the check of items stops once it has found as many problems as a
 * response lists: zod continues to the last one.
 */
export function list<Item extends z.ZodType>(item: Item, { max, min }: Bounds): z.ZodArray<Item> {
  const bounds = z.array(z.unknown()).max(max);
  const { checks = [] } = (min === undefined ? bounds : bounds.min(min)).def;
  return new BoundedList({ type: 'array', element: item, checks }) as z.ZodArray<Item>;
}

/** An object whose names the caller chooses, with a bound on their number, checked in the same way. */
export function members<Value extends z.ZodType>(value: Value): z.ZodRecord<z.ZodString, Value> {
  return new BoundedMembers({ type: 'record', keyType: z.string(), valueType: value }) as z.ZodRecord<z.ZodString, Value>;
}

const BoundedList: z.core.$constructor<z.ZodArray, z.core.$ZodArrayDef> = z.core.$constructor('BoundedList', (schema, definition) => {
  z.ZodArray.init(schema, definition);
  const { max } = boundsOf(definition);
  const whole = schema._zod.parse.bind(schema._zod);
  schema._zod.parse = (payload, context) => {
    const given = payload.value;
    if (!Array.isArray(given)) return whole(payload, context);
    if (given.length > max) {
      payload.issues.push({ code: 'too_big', origin: 'array', maximum: max, inclusive: true, input: given, inst: schema });
      return payload;
    }
    const read: unknown[] = [];
    for (const [index, value] of given.entries()) {
      const result = ran(definition.element._zod.run({ value, issues: [] }, context));
      payload.issues.push(...z.core.util.prefixIssues(index, result.issues.slice(0, MOST_PROBLEMS)));
      if (payload.issues.length >= MOST_PROBLEMS) return payload;
      read.push(result.value);
    }
    payload.value = read;
    return payload;
  };
});

const BoundedMembers: z.core.$constructor<z.ZodRecord, z.core.$ZodRecordDef> = z.core.$constructor(
  'BoundedMembers',
  (schema, definition) => {
    z.ZodRecord.init(schema, definition);
    const whole = schema._zod.parse.bind(schema._zod);
    schema._zod.parse = (payload, context) => {
      const given = payload.value;
      const count = typeof given === 'object' && given !== null ? Object.keys(given).length : 0;
      if (count <= MOST.members) return whole(payload, context);
      payload.issues.push({ code: 'custom', message: `${count} members, over ${MOST.members}`, input: given, inst: schema });
      return payload;
    };
  },
);

function boundsOf({ checks = [] }: z.core.$ZodArrayDef): { max: number } {
  const maxima = checks.flatMap(({ _zod: { def } }) => ('maximum' in def && typeof def.maximum === 'number' ? [def.maximum] : []));
  return { max: Math.min(...maxima) };
}

/** Returns the outcome of a schema. The schemas of requests are synchronous. */
function ran<Result>(result: Result | Promise<Result>): Result {
  if (result instanceof Promise) throw new z.core.$ZodAsyncError();
  return result;
}

/** Content that is in a payload store. */
const spilledContent = component(
  'SpilledContent',
  z
    .strictObject({ store: z.string(), claim: members(z.string()), bytes: z.number(), sha256: z.string() })
    .describe('The location of content that is too large for the conversation.'),
);

const source = {
  url: z.string().exactOptional(),
  data: z.string().exactOptional(),
  mediaType: z.string().exactOptional(),
  spilled: spilledContent.exactOptional(),
};

/** A piece of a message. */
const contentPart = component(
  'ContentPart',
  z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text'), text: z.string() }),
      z.strictObject({ type: z.literal('image'), width: z.number().exactOptional(), height: z.number().exactOptional(), ...source }),
      z.strictObject({ type: z.literal('audio'), format: z.string().exactOptional(), ...source }),
      z.strictObject({ type: z.literal('video'), format: z.string().exactOptional(), ...source }),
      z.strictObject({ type: z.literal('file'), name: z.string().exactOptional(), ...source }),
    ])
    .describe(
      'A piece of a message: text, or media by its URL or as small inline data (base64). Media has exactly one of `url` and `data`; a file that a model has made has `spilled`.',
    ),
);

/** The words of a user: text, or parts if it has media. */
export const inputContent = component(
  'InputContent',
  z.union([z.string(), list(contentPart, { max: MOST.parts })]).describe('Text, or parts if it has media.'),
);

export const contentItem = component(
  'ContentItem',
  z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('message'), role: z.enum(['system', 'user', 'assistant']), content: inputContent }),
      z.strictObject({ type: z.literal('tool_call'), toolCallId: z.string(), name: z.string(), arguments: jsonObject }),
      z.strictObject({
        type: z.literal('tool_result'),
        toolCallId: z.string(),
        name: z.string(),
        status: z.enum(['success', 'error']),
        content: list(jsonValue, { max: MOST.parts }),
        spilled: spilledContent.exactOptional(),
        notes: list(z.string(), { max: MOST.parts }).exactOptional(),
      }),
    ])
    .describe('A message, a call of a tool, or the result of one.'),
);

/** A saved context: see docs/saved-contexts.md. The client checks it. */
export const savedContext = component(
  'SavedContext',
  z
    .looseObject({ version: z.literal(1), messages: list(z.unknown(), { max: MOST.items }) })
    .transform((value: object) => value as SavedContext)
    .describe('The context of a run as a document.'),
);

/** The shapes with a name in the OpenAPI document. Shapes in both requests and answers are checked by the schema with this name. */
export const SHAPES = new Map<JsonObject, string>([
  [JSON_OBJECT, 'JsonObject'],
  [CONTENT_ITEM, 'ContentItem'],
  [SPILLED_CONTENT, 'SpilledContent'],
  [RUN_STATUS, 'RunStatus'],
]);

/** Names a schema in the OpenAPI document: others refer to it. */
export function component<Schema extends z.ZodType | Shape>(id: string, schema: Schema): Schema {
  if (schema instanceof z.ZodType) COMPONENTS.add(schema, { id });
  else SHAPES.set(schema, id);
  return schema;
}
