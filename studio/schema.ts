// How a form edits a value by its JSON Schema, and what is sent of it.

/** The part of JSON Schema that forms understand. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  description?: string;
  title?: string;
  minimum?: number;
  maximum?: number;
  $ref?: string;
  additionalProperties?: unknown;
}

/** The objects and lists that a reader has written as JSON: what is not in them is not filled in. */
export const asWritten = new WeakSet<object>();

type Kind = 'text' | 'number' | 'flag' | 'choice' | 'list' | 'object' | 'json';

/** Returns the way in which a value is edited. A value that does not fit its schema is edited as JSON, so that nothing of it is lost. */
export function kindOf({ type, enum: values, properties, items, $ref, anyOf }: Schema, value: unknown): Kind {
  if ($ref !== undefined || anyOf !== undefined || Array.isArray(type)) return 'json';
  const isOpen = value === undefined;
  if (values !== undefined && values.every((one) => typeof one === 'string'))
    return isOpen || values.some((one) => one === value) ? 'choice' : 'json';
  if (type === 'string') return isOpen || typeof value === 'string' ? 'text' : 'json';
  if (type === 'number' || type === 'integer') return isOpen || typeof value === 'number' ? 'number' : 'json';
  if (type === 'boolean') return isOpen || typeof value === 'boolean' ? 'flag' : 'json';
  if (type === 'array' && items !== undefined) return isOpen || Array.isArray(value) ? 'list' : 'json';
  if (type === 'object' && properties !== undefined) return isOpen || (typeof value === 'object' && value !== null) ? 'object' : 'json';
  return 'json';
}

/**
 * Returns a value as it is sent: a box that is not checked says no, so that one which has to be there is not left out. What the schema does not
 * ask for stays away.
 */
export function withFlags(schema: Schema, value: unknown): unknown {
  const { properties = {}, required = [], items } = schema;
  if (typeof value === 'object' && value !== null && asWritten.has(value)) return value;
  if (Array.isArray(value)) return items === undefined ? value : value.map((one: unknown) => filled(items, one));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, one]) => [name, filled(properties[name] ?? {}, one)] as const);
  const unsaid = required
    .filter((name) => (value as Record<string, unknown>)[name] === undefined)
    .flatMap((name) => {
      const one = properties[name] ?? {};
      const kind = kindOf(one, undefined);
      if (kind === 'flag') return [[name, false] as const];
      return kind === 'object' ? [[name, withFlags(one, {})] as const] : [];
    });
  return Object.fromEntries([...members, ...unsaid]);
}

/** Fills a value inside another one, unless it is edited as JSON: then it is what the reader has written. */
function filled(schema: Schema, value: unknown): unknown {
  return ['object', 'list'].includes(kindOf(schema, value)) ? withFlags(schema, value) : value;
}
