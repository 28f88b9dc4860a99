import { z } from 'zod';

/** The most problems of one request that are looked for: a response lists no more. */
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
 * response lists: zod goes on to the last one.
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
