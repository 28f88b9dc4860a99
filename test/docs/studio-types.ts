import { openapiDocument } from '../../src/server/openapi.ts';
import { ROUTES } from '../../src/server/routes/all-routes.ts';
import { LOGIN_ROUTES } from '../../src/server/routes/login.ts';

/** The file with the types of the API that the page of studio/ is compiled against. */
export const TYPES_FILE = 'studio/api-types.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  contentSchema?: Schema;
}

interface Operation {
  operationId: string;
  summary: string;
  parameters?: { name: string; in: string; required: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Returns the types of all schemas and operations of the OpenAPI document, as a file of TypeScript. */
export function studioTypes(): string {
  const { paths, components } = JSON.parse(JSON.stringify(openapiDocument([...ROUTES, ...LOGIN_ROUTES], ''))) as Document;
  const named = namedBy(paths, components.schemas);
  const schemas = Object.entries(components.schemas).flatMap(([name, schema]) =>
    named.has(name) ? [`export type ${name} = ${typeOf(schema)};\n`] : [],
  );
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationType(method.toUpperCase(), path, operation)),
  );
  return [
    '// Made by `npm run docs` from the OpenAPI document of the service: do not edit.\n',
    ...schemas,
    '/** The operations of the service, by method and path. */\nexport interface Operations {\n',
    operations.join(''),
    '}\n',
  ].join('\n');
}

/** Returns the schemas that paths refer to, also by others: any other registered schemas depend on the modules that are loaded. */
function namedBy(paths: object, schemas: Record<string, Schema>): Set<string> {
  const found = new Set<string>();
  const see = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (found.has(name)) continue;
      found.add(name);
      see(schemas[name]);
    }
  };
  see(paths);
  return found;
}

function operationType(method: string, path: string, { summary, parameters = [], requestBody, responses }: Operation): string {
  const members = (place: string): string =>
    parameters
      .filter((one) => one.in === place)
      .map(({ name, required, schema }) => `${key(name)}${required ? '' : '?'}: ${typeOf(schema)}`)
      .join('; ');
  const query = members('query');
  const body = requestBody?.content['application/json']?.schema;
  const answers = Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Number(status) >= 300
      ? []
      : Object.entries(content).map(([type, { schema }]) => (type === 'text/event-stream' ? itemOf(schema) : typeOf(schema))),
  );
  return [
    `  /** ${summary}. */\n`,
    `  '${method} ${path}': {\n`,
    `    params: { ${members('path')} };\n`,
    query === '' ? '' : `    query: { ${query} };\n`,
    body === undefined ? '' : `    body: ${typeOf(body)};\n`,
    `    answer: ${[...new Set(answers)].join(' | ') || 'undefined'};\n`,
    `  };\n`,
  ].join('');
}

/** Returns the type of the items of a stream, whose events have them as text. */
function itemOf({ properties }: Schema): string {
  const data = properties?.['data'];
  const found = data?.contentSchema ?? data?.anyOf?.find((one) => one.contentSchema !== undefined)?.contentSchema;
  // A stream that ends with a problem throws it.
  return found === undefined ? 'unknown' : typeOf(found).replace(/ \| Problem$/, '');
}

function typeOf(schema: Schema): string {
  const { $ref, const: only, enum: values, anyOf, oneOf, allOf } = schema;
  if ($ref !== undefined) return $ref.replace('#/components/schemas/', '');
  if (only !== undefined) return JSON.stringify(only);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' | ');
  if (allOf !== undefined) return allOf.map(typeOf).join(' & ');
  const types = [schema.type ?? []].flat();
  return types.length === 0 ? 'unknown' : types.map((type) => typeNamed(type, schema)).join(' | ');
}

function typeNamed(type: string, schema: Schema): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'array':
      return schema.items === undefined ? 'unknown[]' : `(${typeOf(schema.items)})[]`;
    default:
      return objectType(schema);
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(
    ([name, schema]) => `${key(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  );
  if (members.length > 0) return `{ ${members.join('; ')} }`;
  const values =
    typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0 ? typeOf(additionalProperties) : 'unknown';
  return `{ [name: string]: ${values} }`;
}

function key(name: string): string {
  return /^[a-z_$][\w$]*$/i.test(name) ? name : JSON.stringify(name);
}
