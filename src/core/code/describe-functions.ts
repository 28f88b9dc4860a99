import type { ToolSnapshot } from '../domain/agent.ts';
import type { CodeLanguage } from '../domain/code.ts';
import type { CodeTool } from '../domain/execution.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import { shortened } from '../domain/text.ts';
import { dereference, propertiesOf, requiredOf, subschemas, typesOf } from '../json-schema/json-schema.ts';
import { type CallingAgent, isParameterName, mayCall, toolsFor } from './callable-tools.ts';

/** The maximum characters of the whole text, of a function's description, of a parameter's description, and of a function's parameters. */
const MAX_LENGTH = { all: 30_000, tool: 1_000, parameter: 200, parameters: 1_500 };

/** The maximum number of functions listed without a description. */
const MAX_LISTED = 100;

/** The beginning of a comment line, by language. */
const COMMENT: Readonly<Record<CodeLanguage, string>> = { javascript: '//', python: '#' };

/** Describes the tools that an agent's code may call: each as a function, with its description as a comment. */
export function describeFunctions(snapshot: CallingAgent, language: CodeLanguage): string {
  const tools = toolsFor('code', snapshot);
  const texts: string[] = [];
  let length = 0;
  for (const tool of tools) {
    const text = describeFunction(tool, language);
    length += text.length;
    if (length > MAX_LENGTH.all) break;
    texts.push(text);
  }
  const left = tools.slice(texts.length);
  return [...texts, ...(left.length === 0 ? [] : [functionList(left, language)])].join('\n\n');
}

function describeFunction(tool: ToolSnapshot, language: CodeLanguage): string {
  const { text, hint } = toolSignature(tool, language);
  const parameters = hint === undefined ? parameterLines(tool) : [hintText(tool, hint)];
  const lines = [...shortened(tool.description.trim(), MAX_LENGTH.tool).split(/\r\n|[\n\r\u2028\u2029]/), ...parameters];
  return [...lines.map((line) => comment(line, language)), text].join('\n');
}

/** Returns a line for each parameter with a description. */
function parameterLines({ schema }: ToolSnapshot): string[] {
  const lines: string[] = [];
  let length = 0;
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const description = isJsonObject(property) ? property['description'] : undefined;
    if (typeof description !== 'string' || description.trim() === '') continue;
    const line = `  ${name}: ${shortened(description.trim().replaceAll(/\s+/g, ' '), MAX_LENGTH.parameter)}`;
    length += line.length;
    if (length > MAX_LENGTH.parameters) break;
    lines.push(line);
  }
  return lines;
}

function hintText(tool: ToolSnapshot, names: string): string {
  const where = mayCall('model', tool)
    ? `: see the parameters of the tool "${tool.name}"`
    : ', and arguments that do not fit throw an error that says what is expected';
  return `Its parameters are too long to show here${where}.${names === '' ? '' : ` They are named ${names}.`}`;
}

function functionList(tools: readonly ToolSnapshot[], language: CodeLanguage): string {
  const names = tools.slice(0, MAX_LISTED).map(({ name }) => name);
  const more = tools.length - names.length;
  const text = `Further functions, which are not described here: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
  return comment(text, language);
}

function comment(line: string, language: CodeLanguage): string {
  return `${COMMENT[language]} ${line}`.trimEnd();
}

/** The part of a tool that determines its signature. */
type SignedTool = Pick<ToolSnapshot, 'name' | 'schema' | 'answer' | 'result'>;

/** The maximum characters of a signature. */
const MAX_SIGNATURE = 1_200;

/** The maximum characters of the parameter names in a hint. */
const MAX_NAMES = 300;

/** The precisions that are tried until a signature is short enough. */
const PRECISIONS: readonly Precision[] = [
  { depth: 8, literals: 60 },
  { depth: 4, literals: 30 },
  { depth: 3, literals: 15 },
  { depth: 2, literals: 10 },
  { depth: 1, literals: 5 },
];

interface Precision {
  /** Maximum depth of written objects and lists. */
  depth: number;
  /** Maximum number of written values of a literal type. */
  literals: number;
}

interface Signature {
  text: string;
  /** The names of its parameters, if the signature is too long to contain them. */
  hint?: string;
}

/**
 * Returns the signature of a tool as a function in the language: `orders(args: {id: number; note?: string}): any`, or in Python `def
 * orders(id: float, note: str | None = None) -> Any`. If it would be too long, a hint lists the parameters.
 */
export function toolSignature(tool: SignedTool, language: CodeLanguage): Signature {
  for (const precision of PRECISIONS) {
    const text = language === 'python' ? pythonSignature(tool, precision) : scriptSignature(tool, precision);
    if (text.length <= MAX_SIGNATURE) return { text };
  }
  const text = language === 'python' ? `def ${tool.name}(**arguments) -> Any` : `${tool.name}(args: object): any`;
  return { text, hint: hintOf(tool) };
}

function scriptSignature(tool: SignedTool, precision: Precision): string {
  const type = argumentsType(tool, precision.depth);
  const result = typeText(resultType(tool, precision), 'javascript', precision);
  if (type.kind === 'object' && type.fields.length === 0 && type.rest === undefined) return `${tool.name}(): ${result}`;
  const isOptional = type.kind === 'object' && type.fields.every(({ optional }) => optional);
  return `${tool.name}(args${isOptional ? '?' : ''}: ${typeText(type, 'javascript', precision)}): ${result}`;
}

function pythonSignature(tool: SignedTool, precision: Precision): string {
  const type = argumentsType(tool, precision.depth);
  const result = typeText(resultType(tool, precision), 'python', precision);
  const parameters = pythonParameters(type, precision) ?? [`arguments: ${typeText(type, 'python', precision)}`];
  return `def ${tool.name}(${parameters.join(', ')}) -> ${result}`;
}

/** Returns the parameters, or undefined if they are not valid Python names: then one dictionary contains all arguments. */
function pythonParameters(type: SchemaType, precision: Precision): string[] | undefined {
  if (type.kind !== 'object') return undefined;
  const { fields, rest } = type;
  if (!fields.every(({ name }) => isParameterName(name, 'python'))) return undefined;
  const parameters = fields.map((field) => pythonParameter(field, precision));
  // A single object argument contains the arguments by name.
  const [first] = fields;
  const byName = first !== undefined && mayBeObject(first.type) ? ['*'] : [];
  const others = rest === undefined ? [] : [`**others: ${typeText(rest, 'python', precision)}`];
  return [...byName, ...parameters, ...others];
}

function pythonParameter({ name, type, optional, default: value }: Field, precision: Precision): string {
  const text = typeText(type, 'python', precision);
  if (!optional) return `${name}: ${text}`;
  if (value !== undefined && value !== null) return `${name}: ${text} = ${NOTATIONS.python.scalar(value)}`;
  return `${name}: ${mayBeNull(type) ? text : `${text} | None`} = None`;
}

/** Returns the type of a tool's result: known if the tool declares it, or if a person answers. */
function resultType({ answer, result = answer }: SignedTool, { depth }: Precision): SchemaType {
  return result === undefined ? ANY : schemaType(result, depth);
}

function typeText(type: SchemaType, language: CodeLanguage, { literals }: Precision): string {
  return NOTATIONS[language].type(type, literals);
}

function mayBeObject({ kind, ...rest }: SchemaType): boolean {
  return kind === 'object' || kind === 'any' || ('choices' in rest && rest.choices.some(mayBeObject));
}

function mayBeNull(type: SchemaType): boolean {
  if (type.kind === 'union') return type.choices.some(mayBeNull);
  return type.kind === 'null' || type.kind === 'any' || (type.kind === 'literal' && type.values.includes(null));
}

function hintOf(tool: SignedTool): string {
  const names = parameterNames(tool);
  let text = '';
  for (const [index, name] of names.entries()) {
    const more = `${index === 0 ? '' : ', '}${JSON.stringify(name)}`;
    if (text.length + more.length > MAX_NAMES) return `${text}${text === '' ? '' : ', '}… (${names.length} in all)`;
    text += more;
  }
  return text;
}

/** The type notation of a language. */
interface TypeNotation {
  /** Writes a type. At most `literals` values of a literal type are written. */
  type(type: SchemaType, literals: number): string;
  scalar(value: Scalar): string;
}

type KindOf<Kind extends SchemaType['kind']> = SchemaType & { kind: Kind };

const TYPESCRIPT: TypeNotation = {
  type(type, literals) {
    switch (type.kind) {
      case 'integer':
        return 'number';
      case 'literal':
        return literalTexts(type, literals, JSON.stringify).join(' | ');
      case 'list': {
        const item = this.type(type.item, literals);
        return isJoined(type.item) ? `(${item})[]` : `${item}[]`;
      }
      case 'tuple':
        return `[${type.items.map((item) => this.type(item, literals)).join(', ')}]`;
      case 'object':
        return braces(type, {
          plain: 'object',
          rest: (rest) => `[key: string]: ${this.type(rest, literals)}`,
          field: ({ name, optional, type: of }) => `${propertyName(name)}${optional ? '?' : ''}: ${this.type(of, literals)}`,
          separator: '; ',
        });
      case 'union':
        return type.choices.map((choice) => this.type(choice, literals)).join(' | ');
      default:
        return type.kind;
    }
  },
  scalar: (value) => JSON.stringify(value),
};

const PYTHON_NAMES = { any: 'Any', null: 'None', boolean: 'bool', string: 'str', number: 'float', integer: 'int' } as const;

const PYTHON: TypeNotation = {
  type(type, literals) {
    switch (type.kind) {
      case 'literal':
        return `Literal[${literalTexts(type, literals, (value) => this.scalar(value)).join(', ')}]`;
      case 'list':
        return `list[${this.type(type.item, literals)}]`;
      case 'tuple':
        return `tuple[${type.items.map((item) => this.type(item, literals)).join(', ')}]`;
      case 'object':
        if (type.fields.length === 0 && type.rest !== undefined && type.rest.kind !== 'any')
          return `dict[str, ${this.type(type.rest, literals)}]`;
        return braces(type, {
          plain: 'dict',
          rest: () => '...',
          field: ({ name, optional, type: of }) => {
            const text = this.type(of, literals);
            return `${JSON.stringify(name)}: ${optional ? `NotRequired[${text}]` : text}`;
          },
          separator: ', ',
        });
      case 'union':
        return type.choices.map((choice) => this.type(choice, literals)).join(' | ');
      default:
        return PYTHON_NAMES[type.kind];
    }
  },
  scalar(value) {
    if (value === null) return 'None';
    if (typeof value === 'boolean') return value ? 'True' : 'False';
    return JSON.stringify(value);
  },
};

/** The type notations by language: TypeScript for JavaScript, and type hints for Python. */
const NOTATIONS: Readonly<Record<CodeLanguage, TypeNotation>> = { javascript: TYPESCRIPT, python: PYTHON };

/** The parts of an object type's text. */
interface ObjectParts {
  /** Any object. */
  plain: string;
  rest(type: SchemaType): string;
  field(field: Field): string;
  separator: string;
}

function braces({ fields, rest }: KindOf<'object'>, parts: ObjectParts): string {
  if (fields.length === 0 && rest?.kind === 'any') return parts.plain;
  return `{${[...fields.map((field) => parts.field(field)), ...(rest === undefined ? [] : [parts.rest(rest)])].join(parts.separator)}}`;
}

function literalTexts({ values }: KindOf<'literal'>, most: number, text: (value: Scalar) => string): string[] {
  const missing = values.length - most;
  return [...values.slice(0, most).map(text), ...(missing > 0 ? [`… ${missing} more`] : [])];
}

/** True if a type's text has a `|` outside of brackets. */
function isJoined(type: SchemaType): boolean {
  return type.kind === 'union' || (type.kind === 'literal' && type.values.length > 1);
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Returns the tools that an agent's code may call, in the form for an executor. */
export function codeTools(snapshot: CallingAgent): CodeTool[] {
  return toolsFor('code', snapshot).map((tool) => ({ name: tool.name, parameters: parameterNames(tool) }));
}

/** Returns the type of a tool's arguments: an object with required fields before optional ones. */
function argumentsType({ schema }: Pick<ToolSnapshot, 'schema'>, depth: number): SchemaType {
  const type = schemaType(schema, depth);
  return type.kind === 'object' ? { ...type, fields: requiredFirst(type.fields) } : type;
}

/** Returns the names of a tool's parameters, in positional order. */
export function parameterNames(tool: Pick<ToolSnapshot, 'schema'>): string[] {
  const type = argumentsType(tool, 1);
  const objects = type.kind === 'union' ? type.choices : [type];
  return [...new Set(objects.flatMap((object) => (object.kind === 'object' ? object.fields.map(({ name }) => name) : [])))];
}

/** Orders fields like Python parameters. */
function requiredFirst(fields: readonly Field[]): Field[] {
  return [...fields.filter(({ optional }) => !optional), ...fields.filter(({ optional }) => optional)];
}

/** A primitive value, which languages can write as a type. */
type Scalar = string | number | boolean | null;

/** The part of a JSON Schema that a language's types can express. */
type SchemaType =
  | { kind: 'any' | 'null' | 'boolean' | 'string' | 'number' | 'integer' }
  | { kind: 'literal'; values: Scalar[] }
  | { kind: 'list'; item: SchemaType }
  | { kind: 'tuple'; items: SchemaType[] }
  /** `rest`: the type of further fields. Absent: there are none. */
  | { kind: 'object'; fields: Field[]; rest?: SchemaType }
  | { kind: 'union'; choices: SchemaType[] };

interface Field {
  name: string;
  type: SchemaType;
  optional: boolean;
  description?: string;
  default?: Scalar;
}

const ANY: SchemaType = { kind: 'any' };
const NULL: SchemaType = { kind: 'null' };

/** The maximum number of schemas read by one conversion: a schema that refers to itself in several places would take forever. */
const MAX_SCHEMAS = 1_000;

interface Conversion {
  root: JsonObject;
  schemasLeft: number;
  /** The enclosing schemas, which the current one may refer to. */
  around: JsonObject[];
  depth: number;
}

/** Returns the type that a schema describes, down to `depth` levels of objects and lists. Deeper ones become any value. */
function schemaType(schema: JsonObject, depth: number): SchemaType {
  return typeOf(schema, { root: schema, schemasLeft: MAX_SCHEMAS, around: [], depth });
}

function typeOf(schema: JsonValue | undefined, conversion: Conversion): SchemaType {
  if (schema === undefined || !isJsonObject(schema)) return ANY;
  const { root, around } = conversion;
  const target = dereference(schema, root);
  if (target === undefined || around.includes(target) || conversion.schemasLeft <= 0) return ANY;
  conversion.schemasLeft -= 1;
  around.push(target);
  const type = wholeType(target, conversion);
  around.pop();
  return target['nullable'] === true ? union([type, NULL]) : type;
}

function wholeType(schema: JsonObject, conversion: Conversion): SchemaType {
  const parts = subschemas(schema, 'allOf').map((part) => typeOf(part, conversion));
  const choices = [...subschemas(schema, 'anyOf'), ...subschemas(schema, 'oneOf')].map((choice) => typeOf(choice, conversion));
  const chosen = choices.length === 0 ? ANY : union(choices);
  return [...parts, chosen].reduce(intersection, ownType(schema, conversion));
}

/** Returns the type that the schema itself describes, without its combinations. */
function ownType(schema: JsonObject, conversion: Conversion): SchemaType {
  if (Object.hasOwn(schema, 'const')) return literal([schema['const'] ?? null]);
  if (Array.isArray(schema['enum'])) return literal(schema['enum']);
  const types = typesOf(schema);
  return types.length === 0
    ? typeByKeywords(schema, conversion)
    : union(types.filter((type) => !(type === 'integer' && types.includes('number'))).map((type) => typeByName(type, schema, conversion)));
}

function typeByKeywords(schema: JsonObject, conversion: Conversion): SchemaType {
  if (schema['properties'] !== undefined || schema['patternProperties'] !== undefined || isSchema(schema['additionalProperties'])) {
    return objectType(schema, conversion);
  }
  return schema['items'] === undefined && schema['prefixItems'] === undefined ? ANY : listType(schema, conversion);
}

function typeByName(name: string, schema: JsonObject, conversion: Conversion): SchemaType {
  switch (name) {
    case 'object':
      return objectType(schema, conversion);
    case 'array':
      return listType(schema, conversion);
    case 'null':
    case 'boolean':
    case 'string':
    case 'number':
    case 'integer':
      return { kind: name };
    default:
      return ANY;
  }
}

function literal(values: readonly JsonValue[]): SchemaType {
  const scalars = values.filter((value): value is Scalar => typeof value !== 'object' || value === null);
  return scalars.length === 0 || scalars.length < values.length ? ANY : { kind: 'literal', values: [...new Set(scalars)] };
}

function listType(schema: JsonObject, conversion: Conversion): SchemaType {
  if (conversion.depth <= 0) return { kind: 'list', item: ANY };
  return deeper(conversion, () => {
    const first = subschemas(schema, 'prefixItems');
    if (first.length > 0) return { kind: 'tuple', items: first.map((item) => typeOf(item, conversion)) };
    return { kind: 'list', item: typeOf(schema['items'], conversion) };
  });
}

function objectType(schema: JsonObject, conversion: Conversion): SchemaType {
  const properties = Object.entries(propertiesOf(schema));
  const patterns = isSchema(schema['patternProperties']) ? Object.values(schema['patternProperties']) : [];
  const { additionalProperties } = schema;
  // An object with listed properties may have others, but its author does not intend any.
  const isOpen =
    additionalProperties === true || (additionalProperties === undefined && schema['properties'] === undefined && patterns.length === 0);
  if (conversion.depth <= 0) return { kind: 'object', fields: [], ...(properties.length > 0 || isOpen ? { rest: ANY } : {}) };
  return deeper(conversion, () => {
    const required = requiredOf(schema);
    const fields = properties.map(([name, property]) => fieldOf(name, property, { required, conversion }));
    const others = [...patterns, ...(isSchema(additionalProperties) ? [additionalProperties] : [])].map((one) => typeOf(one, conversion));
    const rest = others.length > 0 ? union(others) : ANY;
    return { kind: 'object', fields, ...(others.length > 0 || isOpen ? { rest } : {}) };
  });
}

function fieldOf(name: string, property: JsonValue, { required, conversion }: { required: string[]; conversion: Conversion }): Field {
  const target = isJsonObject(property) ? { ...dereference(property, conversion.root), ...property } : {};
  const { description, default: value } = target;
  return {
    name,
    type: typeOf(property, conversion),
    optional: !required.includes(name),
    ...(typeof description === 'string' && description.trim() !== '' ? { description } : {}),
    ...(value === undefined || (typeof value === 'object' && value !== null) ? {} : { default: value }),
  };
}

function deeper(conversion: Conversion, convert: () => SchemaType): SchemaType {
  conversion.depth -= 1;
  const type = convert();
  conversion.depth += 1;
  return type;
}

function isSchema(value: JsonValue | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value);
}

function union(types: readonly SchemaType[]): SchemaType {
  const flat = types.flatMap((type) => (type.kind === 'union' ? type.choices : [type]));
  if (flat.length === 0 || flat.some(({ kind }) => kind === 'any')) return ANY;
  const literals = flat.flatMap((type) => (type.kind === 'literal' ? type.values : []));
  const others = new Map(flat.filter(({ kind }) => kind !== 'literal').map((type) => [JSON.stringify(type), type]));
  const choices = [...(literals.length === 0 ? [] : [literal(literals)]), ...others.values()];
  const [only] = choices;
  return only !== undefined && choices.length === 1 ? only : { kind: 'union', choices };
}

/** Returns the type of values that have both types, or the first type if a language cannot express both. */
function intersection(one: SchemaType, other: SchemaType): SchemaType {
  if (one.kind === 'any') return other;
  if (other.kind === 'any') return one;
  if (one.kind === 'object' && other.kind === 'union') return union(other.choices.map((choice) => intersection(one, choice)));
  return one.kind === 'object' && other.kind === 'object' ? objectIntersection(one, other) : one;
}

function objectIntersection(one: SchemaType & { kind: 'object' }, other: SchemaType & { kind: 'object' }): SchemaType {
  const fields = new Map(one.fields.map((known) => [known.name, known]));
  for (const added of other.fields) {
    const known = fields.get(added.name);
    const merged = {
      ...added,
      ...known,
      type: intersection(known?.type ?? ANY, added.type),
      optional: added.optional && (known?.optional ?? true),
    };
    fields.set(added.name, merged);
  }
  const rest = one.rest === undefined || other.rest === undefined ? undefined : intersection(one.rest, other.rest);
  return { kind: 'object', fields: [...fields.values()], ...defined({ rest }) };
}
