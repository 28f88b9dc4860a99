import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../core/domain/errors.ts';
import { defined, type JsonObject } from '../core/domain/json.ts';
import type { Shape } from '../core/domain/shape.ts';
import { mapSubschemas } from '../core/json-schema/json-schema.ts';
import { httpStatusOf } from './problems.ts';
import type { ResponseDefinition, Route, RouteTag } from './route.ts';
import { component, COMPONENTS, SHAPES } from './schemas/values.ts';

type Json = Record<string, unknown>;

/** The errors of every route with a caller, and of every route with a body. */
const OF_ALL: readonly ErrorCode[] = ['unauthenticated', 'forbidden', 'too_many_requests', 'internal', 'server_unreachable'];
const OF_BODIES: readonly ErrorCode[] = ['malformed_request', 'body_too_large', 'unsupported_media_type', 'invalid_request'];
const OF_PUBLIC: readonly ErrorCode[] = ['malformed_request', 'internal'];
const OF_PARAMETERS: readonly ErrorCode[] = ['invalid_request'];

const TAGS: Record<RouteTag, string> = {
  runs: 'Runs of agents and of programs: each is durable, and continues without its caller.',
  approvals: 'Calls that wait for a decision.',
  sessions: 'Conversations that stay open between answers.',
  programs: 'Programs: pipelines of steps, each run by a workflow.',
  agents: 'The agents that the service knows.',
  users: 'The users on whose behalf runs act.',
  server: 'The service itself.',
};

/** The ways in which a request can carry credentials. */
const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (`lh_…`), a JSON Web Token of an issuer that the service knows, or a token for one run.',
  },
  runToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'A token for one run, of `POST /v1/tokens`, for an `EventSource`, which sends no headers.',
  },
};

/** The headers of errors by status. */
const REFUSAL_HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'The kind of credentials that the service takes.' },
  429: { 'Retry-After': 'The seconds after which the request may be sent again.' },
  503: { 'Retry-After': 'The seconds after which the request may be sent again.' },
};

/** Returns the OpenAPI 3.1 document of routes, from the definitions that also check their requests. */
export function openapiDocument(routes: readonly Route[], prefix: string): Json {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Longhaul',
      version: '1',
      description: 'Durable AI agents on Temporal, over HTTP.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: prefix === '' ? '/' : prefix }],
    security: [{ bearer: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: pathsOf(routes),
    components: {
      schemas: componentSchemas(),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function pathsOf(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const { path, method } = route.definition;
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(route) };
  }
  return paths;
}

function operationOf({ definition }: Route): Json {
  const { id, tag, summary, description, scope, body } = definition;
  const parameters = parametersOf(definition);
  const text = [description, scope === 'public' ? undefined : `Needs the scope \`${scope}\`.`].filter((one) => one !== undefined).join(' ');
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(text === '' ? {} : { description: text }),
    ...(scope === 'public' ? { security: [] } : {}),
    ...(definition.query?.shape['token'] === undefined ? {} : { security: [{ bearer: [] }, { runToken: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: !body.safeParse({}).success, content: { 'application/json': { schema: schemaOf(body) } } } }),
    responses: responsesOf(definition),
  };
}

function parametersOf({ params, query, idempotencyKey }: Route['definition']): Json[] {
  return [
    ...parametersIn(params, 'path'),
    ...parametersIn(query, 'query'),
    ...(idempotencyKey === undefined
      ? []
      : [
          {
            name: 'Idempotency-Key',
            in: 'header',
            required: false,
            description: idempotencyKey,
            schema: { type: 'string', minLength: 1, maxLength: 255 },
          },
        ]),
  ];
}

function parametersIn(parameters: z.ZodObject | undefined, place: 'path' | 'query'): Json[] {
  if (parameters === undefined) return [];
  const { properties = {}, required = [] } = plainSchema(parameters) as { properties?: Record<string, Json>; required?: string[] };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...defined({ description }),
    schema,
  }));
}

function responsesOf({ responses, problems, scope, body, params, query }: Route['definition']): Json {
  const codes = [
    ...problems,
    ...(scope === 'public' ? OF_PUBLIC : OF_ALL),
    ...(body === undefined ? [] : OF_BODIES),
    ...(params === undefined && query === undefined ? [] : OF_PARAMETERS),
  ];
  const byStatus = Map.groupBy([...new Set(codes)], httpStatusOf);
  const refusals = [...byStatus].map(([status, ofStatus]) => [status, refusalResponse(status, ofStatus)] as const);
  const given = Object.entries(responses).map(([status, response]) => [Number(status), responseOf(response)] as const);
  return Object.fromEntries([...refusals, ...given].toSorted(([one], [other]) => one - other));
}

function responseOf({ description, schema, contentType = 'application/json', headers, lastData }: ResponseDefinition): Json {
  const body = schema && (contentType === 'text/event-stream' ? eventOf(schema, lastData) : schemaOf(schema));
  return {
    description,
    ...describedHeaders(headers),
    ...(body === undefined ? {} : { content: { [contentType]: { schema: body } } }),
  };
}

/** Returns the schema of one server-sent event, as it is on the wire: its data is the text of an item. */
function eventOf(item: z.ZodType | Shape, lastData: string | undefined): Json {
  const text = (schema: Json): Json => ({ type: 'string', contentMediaType: 'application/json', contentSchema: schema });
  const data =
    lastData === undefined ? text({ anyOf: [schemaOf(item), schemaOf(problem)] }) : { anyOf: [text(schemaOf(item)), { const: lastData }] };
  return {
    type: 'object',
    description: 'One event of the stream. Lines that begin with a colon are comments, which keep the connection open.',
    properties: {
      id: { type: 'string', description: 'The cursor: a client that comes back sends it as `Last-Event-ID`.' },
      event: { type: 'string', description: 'The `type` of the item; `problem` for a problem, which is the last event.' },
      data: { ...data, description: 'The item, as JSON.' },
      retry: {
        type: 'integer',
        description: 'The milliseconds after which a client that was cut off comes back. Only in the first event.',
      },
    },
  };
}

function describedHeaders(headers: Readonly<Record<string, string>> = {}): Json {
  const described = Object.entries(headers).map(([name, text]) => [name, { description: text, schema: { type: 'string' } }]);
  return described.length === 0 ? {} : { headers: Object.fromEntries(described) as Json };
}

function refusalResponse(status: number, codes: readonly ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    ...describedHeaders(REFUSAL_HEADERS[status]),
    content: { 'application/problem+json': { schema: schemaOf(problem) } },
  };
}

/** Returns a reference to a schema with a name, or else the schema itself. */
function schemaOf(schema: z.ZodType | Shape): Json {
  if (!(schema instanceof z.ZodType)) return shapeSchema(schema);
  const id = COMPONENTS.get(schema)?.id;
  return id === undefined ? plainSchema(schema) : { $ref: referenceTo(id) };
}

function referenceTo(id: string): string {
  return `#/components/schemas/${id}`;
}

/** Returns a schema without a name. It contains no other schemas. */
function plainSchema(schema: z.ZodType): Json {
  const { $schema: _, additionalProperties: __, ...plain } = z.toJSONSchema(schema, { io: 'input' });
  return plain;
}

/** Returns a reference to a shape with a name, or else the shape itself. */
function shapeSchema(shape: JsonObject): JsonObject {
  const id = SHAPES.get(shape);
  return id === undefined ? wholeShape(shape) : { $ref: referenceTo(id) };
}

/** Returns a shape, adding the types of fixed values: readers may not infer them. */
function wholeShape(shape: JsonObject): JsonObject {
  const schema = mapSubschemas(shape, shapeSchema);
  const [value] = Array.isArray(schema['enum']) ? schema['enum'] : [schema['const']];
  return value === undefined || 'type' in schema ? schema : { type: typeof value, ...schema };
}

function componentSchemas(): Json {
  const { schemas } = z.toJSONSchema(COMPONENTS, { io: 'input', uri: referenceTo });
  const shapes = [...SHAPES].map(([shape, id]): [string, object] => [id, wholeShape(shape)]);
  const checked = Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]): [string, object] => [id, schema]);
  const all = Object.fromEntries([...shapes, ...checked]);
  return Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** The body of every error. */
const problem = component(
  'Problem',
  z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      instance: z.string().exactOptional(),
      code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]).describe('The identity of the error.'),
      errors: z
        .array(z.object({ pointer: z.string().exactOptional(), parameter: z.string().exactOptional(), detail: z.string() }))
        .exactOptional()
        .describe('The parts of the request that do not have the shape that the route takes, by JSON pointers into its body.'),
    })
    .describe('A problem, as RFC 9457 has it.'),
);
