import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { propertiesOf, requiredOf, subschemas, typesOf } from '../../src/core/json-schema/json-schema.ts';

/** A rule that makes a provider refuse the schema of a tool: it returns the problem of one schema in it. */
interface Rule {
  provider: string;
  /** Returns the problem of a schema at a path. The root has the path ''. */
  problem: (schema: JsonObject, path: string) => string | undefined;
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
const UNIONS = ['anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not'];

/** The keywords of the schemas that Gemini knows. */
const GEMINI = new Set(
  'type title description properties required items anyOf enum format nullable minimum maximum minItems maxItems minLength maxLength pattern additionalProperties'.split(
    ' ',
  ),
);

/** The refusals that the providers document, or answer with. */
const RULES: readonly Rule[] = [
  {
    provider: 'OpenAI',
    problem: (schema, path) => (path === '' && schema['type'] !== 'object' ? 'schema must be of type "object"' : undefined),
  },
  {
    provider: 'OpenAI',
    problem: (schema) =>
      schema['type'] === 'object' && !isJsonObject(schema['properties']) ? 'object schema missing properties' : undefined,
  },
  { provider: 'OpenAI', problem: (schema, path) => (path === '' ? UNIONS.find((keyword) => keyword in schema) : undefined) },
  {
    provider: 'OpenAI',
    problem: (schema) => (typesOf(schema).includes('array') && schema['items'] === undefined ? 'array schema missing items' : undefined),
  },
  { provider: 'OpenAI', problem: (schema) => (Array.isArray(schema['items']) ? 'items is a list' : undefined) },
  { provider: 'OpenAI', problem: (schema) => typesOf(schema).find((type) => !TYPES.includes(type)) },
  {
    provider: 'OpenAI',
    problem: (schema) =>
      Array.isArray(schema['enum']) && (schema['enum'].length === 0 || new Set(schema['enum']).size < schema['enum'].length)
        ? 'enum is empty, or names a value twice'
        : undefined,
  },
  { provider: 'Anthropic', problem: (schema) => Object.keys(propertiesOf(schema)).find((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) },
  {
    provider: 'Anthropic',
    problem: (schema, path) => (path === '' ? ['oneOf', 'allOf', 'anyOf'].find((keyword) => keyword in schema) : undefined),
  },
  { provider: 'Anthropic', problem: (schema) => ['$schema', '$id', 'definitions', 'id'].find((keyword) => keyword in schema) },
  {
    provider: 'Bedrock',
    problem: (schema, path) => (path === '' && schema['type'] !== 'object' ? 'type must be one of the following: object' : undefined),
  },
  {
    provider: 'Bedrock',
    problem: (schema) =>
      'exclusiveMinimum' in schema && typeof schema['exclusiveMinimum'] !== 'number' ? 'exclusiveMinimum is not a number' : undefined,
  },
  {
    provider: 'Bedrock',
    problem: (schema) =>
      'required' in schema &&
      (!Array.isArray(schema['required']) ||
        schema['required'].length === 0 ||
        !schema['required'].every((name) => typeof name === 'string'))
        ? 'required is not a list of names'
        : undefined,
  },
  {
    provider: 'Mistral',
    problem: (schema) => ('properties' in schema && !isJsonObject(schema['properties']) ? 'properties is not an object' : undefined),
  },
  {
    provider: 'Mistral',
    problem: (schema) => ('description' in schema && typeof schema['description'] !== 'string' ? 'description is not a text' : undefined),
  },
  {
    provider: 'Mistral',
    problem: (schema) => (typeof schema['pattern'] === 'string' && !compiles(schema['pattern']) ? 'pattern does not compile' : undefined),
  },
  { provider: 'Gemini', problem: (schema) => Object.keys(schema).find((keyword) => !GEMINI.has(keyword)) },
  {
    provider: 'Gemini',
    problem: (schema) =>
      Array.isArray(schema['enum']) &&
      !(schema['type'] === 'string' && schema['enum'].every((value) => typeof value === 'string' && value !== ''))
        ? 'enum: only allowed for STRING type, and not empty'
        : undefined,
  },
  {
    provider: 'Gemini',
    problem: (schema) =>
      'format' in schema && !(schema['type'] === 'string' && schema['format'] === 'date-time')
        ? `format ${JSON.stringify(schema['format'])} is not supported`
        : undefined,
  },
  { provider: 'Gemini', problem: (schema) => requiredOf(schema).find((name) => !Object.hasOwn(propertiesOf(schema), name)) },
  {
    provider: 'Gemini',
    problem: (schema) =>
      typesOf(schema).length > 2 || (typesOf(schema).length === 2 && !typesOf(schema).includes('null')) ? 'several types' : undefined,
  },
  {
    provider: 'Gemini',
    problem: (schema) => (isJsonObject(schema['items']) && Object.keys(schema['items']).length === 0 ? 'items: missing field' : undefined),
  },
  {
    provider: 'Gemini',
    problem: (schema) =>
      'anyOf' in schema && ['type', 'properties', 'items', 'enum'].some((keyword) => keyword in schema)
        ? 'any_of must be the only field'
        : undefined,
  },
  {
    provider: 'Gemini',
    problem: (schema) =>
      'additionalProperties' in schema && typeof schema['additionalProperties'] !== 'boolean'
        ? 'additionalProperties is a schema'
        : undefined,
  },
];

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** Returns the refusals of all providers of a schema that is sent: `provider: path: problem`. */
export function refusals(schema: JsonObject, path = ''): string[] {
  const own = RULES.flatMap(({ provider, problem }) => {
    const found = problem(schema, path);
    return found === undefined ? [] : [`${provider}: ${path === '' ? 'the root' : path}: ${found}`];
  });
  const inner: [string, JsonValue][] = [
    ...Object.entries(propertiesOf(schema)).map(([name, one]): [string, JsonValue] => [`${path}.${name}`, one]),
    ...(schema['items'] === undefined ? [] : ([[`${path}[]`, schema['items']]] as [string, JsonValue][])),
    ...subschemas(schema, 'anyOf').map((one, index): [string, JsonValue] => [`${path}|${index}`, one]),
  ];
  return [...own, ...inner.flatMap(([at, one]) => (isJsonObject(one) ? refusals(one, at) : [`JSON Schema: ${at}: not a schema`]))];
}

/** The keywords of the strict subset of OpenAI. */
const STRICT = new Set(
  'type title description properties required items anyOf enum const format pattern minItems maxItems multipleOf minimum maximum exclusiveMinimum exclusiveMaximum additionalProperties $ref $defs'.split(
    ' ',
  ),
);

/** Returns the refusals of a schema that is sent with `strict`, which OpenAI alone enforces, and the others read as any other schema. */
export function strictRefusals(schema: JsonObject, path = ''): string[] {
  const problems: string[] = [];
  if (path === '' && UNIONS.some((keyword) => keyword in schema)) problems.push('a union at the root');
  const unknown = Object.keys(schema).find((keyword) => !STRICT.has(keyword));
  if (unknown !== undefined) problems.push(`"${unknown}" is not permitted`);
  const names = Object.keys(propertiesOf(schema));
  if (typesOf(schema).includes('object')) {
    if (schema['additionalProperties'] !== false) problems.push('additionalProperties must be false');
    if (names.toSorted().join() !== requiredOf(schema).toSorted().join()) problems.push('required must name every property');
    if (!names.every((name) => /^[a-zA-Z0-9_.-]{1,64}$/.test(name))) problems.push('the name of a property');
  }
  if (typesOf(schema).includes('array') && !isJsonObject(schema['items'])) problems.push('array schema missing items');
  const inner = [
    ...Object.entries(propertiesOf(schema)),
    ...subschemas(schema, 'anyOf').entries(),
    ...('items' in schema ? [['[]', schema['items']] as const] : []),
  ];
  return [
    ...problems.map((problem) => `${path === '' ? 'the root' : path}: ${problem}`),
    ...inner.flatMap(([at, one]) => (one !== undefined && isJsonObject(one) ? strictRefusals(one, `${path}.${at}`) : [])),
  ];
}
