import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { defineAgent } from '../../../src/index.ts';
import { createHandler, type Handler } from '../../../src/server/index.ts';
import { chatParameters } from '../../../src/server/protocols/openai/chat-completions.ts';
import { responseParameters } from '../../../src/server/protocols/openai/responses.ts';
import { ROUTES } from '../../../src/server/routes/all-routes.ts';
import type { OpenapiDocument } from '../checked-handler.ts';
import { clientWithRun } from '../requests.ts';

/** A route with the schema of its body, whose references are to `defs`. */
interface RouteWithBody {
  method: string;
  path: string;
  schema: JsonObject;
  defs: Readonly<Record<string, JsonObject>>;
}

function object(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties) };
}

const FREE: JsonObject = { type: 'object', additionalProperties: {} };
const CALL = object({
  name: { const: 'clerk' },
  arguments: { ...object({ input: { type: 'string' } }), additionalProperties: {} },
  _meta: FREE,
});

/** The size of the generated bodies: the largest that is read. */
const BYTES = 990_000;

/** Returns all routes that take a body: the routes of the document, and of the protocols that are described elsewhere. */
export function routesWithBody({ paths, components: { schemas: defs } }: OpenapiDocument): RouteWithBody[] {
  const described = Object.entries(paths).flatMap(([template, operations]) =>
    Object.entries(operations).flatMap(([method, operation]): RouteWithBody[] => {
      const { requestBody: body } = operation as { requestBody?: { content: Record<string, { schema: JsonObject }> } };
      const schema = body?.content['application/json']?.schema;
      return schema === undefined ? [] : [{ method: method.toUpperCase(), path: template.replaceAll(/\{\w+\}/g, 'x'), schema, defs }];
    }),
  );
  const own = (path: string, schema: z.ZodType): RouteWithBody => {
    const { $defs = {}, ...rest } = z.toJSONSchema(schema, { io: 'input' }) as JsonObject;
    return { method: 'POST', path, schema: rest, defs: $defs as Record<string, JsonObject> };
  };
  return [
    ...described,
    own('/v1/chat/completions', chatParameters),
    own('/v1/responses', responseParameters),
    {
      method: 'POST',
      path: '/mcp',
      schema: object({ jsonrpc: { const: '2.0' }, id: { const: 1 }, method: { const: 'tools/call' }, params: CALL }),
      defs: {},
    },
  ];
}

/** The members of a large list, by what they are. */
const WRONG: [string, JsonValue][] = [
  ['empty objects', {}],
  ['empty lists', []],
  ['nulls', null],
  ['numbers', 0],
  ['objects of an unknown type', { type: 'x' }],
  ['lists in lists', [[[[[]]]]]],
  ['objects with unknown members', { a: 1, b: 2, c: 3, d: 4 }],
  ['short texts', 'a'],
];

/** Returns bodies of 1 MB for a route, as text, each with its name: some fit its schema, and most do not. */
export function* largeBodies(route: RouteWithBody): Generator<[string, string]> {
  for (const [name, item] of WRONG) yield [`a list of ${name}`, filled(JSON.stringify(item))];
  yield ['an object of many members', manyMembers(BYTES)];
  yield ['a text', JSON.stringify('x'.repeat(BYTES))];
  yield ['many levels', '['.repeat(BYTES / 2) + ']'.repeat(BYTES / 2)];
  yield ['a body that is cut off', '['.repeat(BYTES)];
  const least = leastOf(route.schema, route.defs);
  if (!isJsonObject(least)) return;
  yield [
    'a body that fits with many unknown members',
    `${JSON.stringify(least).slice(0, -1)}${least === undefined ? '' : ','}${manyMembers(BYTES - 1_000).slice(1)}`,
  ];
  for (const { at, item, list: listAt } of placesOf(route.schema, route.defs)) {
    for (const [name, one] of [...WRONG, ['items that fit', leastOf(item, route.defs)] as const]) {
      yield [`${name} at ${at.join('.')}`, bodyWith(least, at, filled(JSON.stringify(one), BYTES - 5_000))];
    }
    const { maxItems } = listAt;
    if (typeof maxItems === 'number')
      yield [
        `as many items as fit at ${at.join('.')}`,
        bodyWith(least, at, filled(JSON.stringify(leastOf(item, route.defs)), BYTES - 5_000, maxItems)),
      ];
    yield [`many members at ${at.join('.')}`, bodyWith(least, at, manyMembers(BYTES - 5_000))];
    yield [`a text at ${at.join('.')}`, bodyWith(least, at, JSON.stringify('x'.repeat(BYTES - 5_000)))];
  }
}

function filled(item: string, bytes = BYTES, most = Infinity): string {
  return `[${Array.from({ length: Math.min(most, Math.floor(bytes / (item.length + 1))) }, () => item).join(',')}]`;
}

function manyMembers(bytes: number): string {
  return `{${Array.from({ length: Math.floor(bytes / 11) }, (_, index) => `"${index.toString(36).padStart(6, 'k')}":1`).join(',')}}`;
}

/** Puts a text of JSON into a body. Numbers of the path are places of lists. */
function bodyWith(least: JsonObject, at: readonly (string | number)[], text: string): string {
  const [first, ...rest] = at;
  if (first === undefined) return text;
  const placed = (inner: JsonValue | undefined, path: readonly (string | number)[]): JsonValue => {
    const [next, ...further] = path;
    if (next === undefined) return '@@';
    const value = placed(isJsonObject(inner) && typeof next === 'string' ? inner[next] : undefined, further);
    if (typeof next === 'number') return [value];
    return { ...(isJsonObject(inner) ? inner : {}), [next]: value };
  };
  return JSON.stringify({ ...least, [first]: placed(least[first], rest) }).replace('"@@"', () => text);
}

interface Place {
  at: (string | number)[];
  item: JsonObject;
  list: JsonObject;
}

/** Returns the places of lists, of objects with free names, and of texts, in a schema. */
function placesOf(schema: JsonObject, defs: RouteWithBody['defs'], at: (string | number)[] = []): Place[] {
  const list = resolved(schema, defs);
  const { properties, items, additionalProperties } = list;
  const choices = choicesOf(list).flatMap((choice) => placesOf(choice, defs, at));
  if (at.length > 5) return choices;
  const inner = isJsonObject(properties)
    ? Object.entries(properties).flatMap(([name, member]) => placesOf(member as JsonObject, defs, [...at, name]))
    : [];
  const own = isJsonObject(items) ? [{ at, item: items, list }, ...placesOf(items, defs, [...at, 0])] : [];
  const free = isJsonObject(additionalProperties) && at.length > 0 ? [{ at, item: additionalProperties, list }] : [];
  const text = list['type'] === 'string' && at.length === 1 ? [{ at, item: { type: 'string' }, list }] : [];
  return [...choices, ...inner, ...own, ...free, ...text];
}

function resolved(schema: JsonObject, defs: RouteWithBody['defs']): JsonObject {
  const { $ref: ref } = schema;
  return typeof ref === 'string' ? resolved(defs[ref.split('/').at(-1) ?? ''] ?? {}, defs) : schema;
}

function choicesOf({ anyOf, oneOf }: JsonObject): JsonObject[] {
  return [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as JsonObject[]) : []));
}

/** Returns the smallest value that a schema takes, as far as the schemas of the service go. */
function leastOf(given: JsonObject, defs: RouteWithBody['defs']): JsonValue {
  const schema = resolved(given, defs);
  if ('const' in schema) return schema['const'] ?? null;
  if (Array.isArray(schema['enum'])) return schema['enum'][0] ?? null;
  const [choice] = choicesOf(schema);
  if (choice !== undefined) return leastOf(choice, defs);
  switch (schema['type']) {
    case 'object': {
      const { properties = {}, required = [] } = schema as { properties?: Record<string, JsonObject>; required?: string[] };
      return Object.fromEntries(required.map((name) => [name, leastOf(properties[name] ?? {}, defs)]));
    }
    case 'array':
      return Array.from({ length: Number(schema['minItems'] ?? 0) }, () => leastOf((schema['items'] ?? {}) as JsonObject, defs));
    case 'string':
      return 'clerk';
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    default:
      return {};
  }
}

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

const clerk = defineAgent({ name: 'clerk', model: 'p/m' });

/** A service whose starts do nothing. */
export function quietHandler(methods: object = {}): Handler {
  const nothing = async (): Promise<object> => ({ runId: 'r' });
  const session = (): object => ({ open: nothing, status: nothing, send: nothing });
  const client = clientWithRun(methods, { start: nothing, startProgram: nothing, session });
  return createHandler(client, { agents: [clerk], limits: false, onError: () => undefined, tokenSecrets: ['s'.repeat(40)] });
}

/** Sends a body unchanged. */
export function post(handler: Handler, { method, path }: Pick<RouteWithBody, 'method' | 'path'>, body: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return handler(new Request(`http://localhost${path}`, { method, body, headers }));
}
