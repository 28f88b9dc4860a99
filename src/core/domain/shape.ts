import type { JsonObject, JsonValue } from './json.ts';
import { MAX_DURATION_MS } from './time.ts';

declare const TYPE: unique symbol;

/** A JSON Schema that knows the type of its values. At run time it is only the schema: plain data, also usable in the sandbox. */
export type Shape<Type = unknown> = JsonObject & { readonly [TYPE]: Type };

/** The type of the values that fit a shape. */
export type ValueOf<One extends Shape> = One[typeof TYPE];

/** A member that may be missing. */
class Optional<Type> {
  readonly of: Shape<Type>;

  constructor(of: Shape<Type>) {
    this.of = of;
  }
}

/** The members of an object, by name. */
type Members = Readonly<Record<string, Shape | Optional<unknown>>>;

/**
 * The object type that members define. An interface that extends it keeps its own name, and the members' comments, wherever it is shown:
 * `interface Point extends ObjectOf<typeof POINT> {}`.
 */
export type ObjectOf<All extends Members> = {
  [Name in keyof All as All[Name] extends Shape ? Name : never]: All[Name] extends Shape<infer Type> ? Type : never;
} & {
  [Name in keyof All as All[Name] extends Shape ? never : Name]?: All[Name] extends Optional<infer Type> ? Type : never;
};

/** Further keywords of JSON Schema. */
type Keywords = Readonly<Record<string, JsonValue>>;

/** Declares the type of a schema's values. */
export function shape<Type>(schema: Keywords): Shape<Type> {
  return schema as Shape<Type>;
}

export const TEXT = shape<string>({ type: 'string' });
export const NUMBER = shape<number>({ type: 'number' });
export const FLAG = shape<boolean>({ type: 'boolean' });

/** A member whose only value is `true`, or which is absent. */
export const TRUE = constant(true);

export const ANY_JSON = shape<JsonValue>({});

export const JSON_OBJECT = shape<JsonObject>({ type: 'object' });

/** A point in time, as ISO 8601. */
export const TIMESTAMP = shape<string>({ type: 'string', format: 'date-time', description: 'ISO 8601 in UTC.' });

/** The version of a form. */
export const VERSION = constant(1);

export const ANY_LIST = shape<JsonValue[]>({ type: 'array', items: {} });

/** An integer that can be incremented: adding 1 to a larger one has no effect. */
export const COUNT = boundedNumber({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** The same, and at least 1. */
export const AT_LEAST_ONE = boundedNumber({ ...COUNT, minimum: 1 });

/** A duration in milliseconds. */
export const DURATION = boundedNumber({ exclusiveMinimum: 0, maximum: MAX_DURATION_MS });

/** A time in milliseconds since the epoch, up to the latest that a `Date` supports. */
export const MOMENT = boundedNumber({ minimum: 0, maximum: 8_640_000_000_000_000 });

export function boundedText(keywords: Keywords): Shape<string> {
  return shape({ ...TEXT, ...keywords });
}

export function boundedNumber(keywords: Keywords): Shape<number> {
  return shape({ type: 'number', ...keywords });
}

/** A constant text, for the member that distinguishes the objects of a union. */
export function fixed<const Name extends string>(name: Name): Shape<Name> {
  return shape({ type: 'string', const: name });
}

/** An object whose members are described elsewhere: readers of the schema see any object. */
export function anyObject<Type extends object>(): Shape<Type> {
  return shape<Type>(JSON_OBJECT);
}

/** One of several fixed values. */
export function oneOf<const Value extends JsonValue>(...values: readonly Value[]): Shape<Value> {
  return shape({ enum: [...values] });
}

/** A constant value, for an input that the sandbox checks. */
export function constant<const Value extends JsonValue>(value: Value): Shape<Value> {
  return shape({ const: value });
}

export function listOf<Item>(items: Shape<Item>, keywords: Keywords = {}): Shape<Item[]> {
  return shape({ type: 'array', items, ...keywords });
}

/** An object with arbitrary keys. */
export function recordOf<Value>(values: Shape<Value>): Shape<Record<string, Value>> {
  return shape({ type: 'object', additionalProperties: values });
}

/** A value of one of several shapes. */
export function either<Choices extends readonly Shape[]>(...choices: Choices): Shape<ValueOf<Choices[number]>> {
  return shape({ anyOf: [...choices] });
}

/** One of several objects, distinguished by a fixed member. */
export function union<Choices extends readonly Shape[]>(...choices: Choices): Shape<ValueOf<Choices[number]>> {
  return shape({ oneOf: [...choices] });
}

export function orNull<Type>(one: Shape<Type>): Shape<Type | null> {
  return either(one, shape<null>({ type: 'null' }));
}

/** The same values, with a description for readers of the schema. */
export function described<Type>(one: Shape<Type>, description: string): Shape<Type> {
  return shape({ ...one, description });
}

export function optional<Type>(one: Shape<Type>): Optional<Type> {
  return new Optional(one);
}

/** An object that may have further members: readers ignore unknown ones. */
export function object<All extends Members>(members: All, keywords: Keywords = {}): Shape<ObjectOf<All>> {
  const entries = Object.entries(members);
  const required = entries.flatMap(([name, member]) => (member instanceof Optional ? [] : [name]));
  return shape({
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, member]) => [name, member instanceof Optional ? member.of : member])),
    ...(required.length === 0 ? {} : { required }),
    ...keywords,
  });
}

/** An object without other members: a misspelt member is a problem. */
export function closedObject<All extends Members>(members: All, keywords: Keywords = {}): Shape<ObjectOf<All>> {
  return object(members, { additionalProperties: false, ...keywords });
}
