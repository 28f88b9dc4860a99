import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { propertiesOf } from '../../json-schema/json-schema.ts';
import { parseTemplate, referencesIn, wholeReference } from '../references.ts';
import { addJsonProblems, type Part } from './check-schema.ts';
import { type OutlineStep, textAt, textsAt } from './outline.ts';
import { type Problems, quoted } from './problems.ts';

/** All names outside of itself that a program can use. An absent list is not checked. */
export interface KnownNames {
  /** The tools, with their argument schemas. */
  tools?: readonly { name: string; schema?: JsonObject }[];
  /** The agents, with their deps schemas. */
  agents?: readonly { name: string; depsSchema?: JsonObject }[];
  /** The programs, with their input schemas. */
  programs?: readonly { name: string; input?: JsonObject }[];
  /** The anchors available to an `ask`. */
  anchors?: readonly { name: string }[];
  /** The names of the model providers. */
  providers?: readonly string[];
  /** False: there is no memory. */
  hasMemory?: boolean;
  /** True: the lists are incomplete. Missing names are not a problem, and arguments are checked where the schema is known. */
  isPartial?: boolean;
}

/** Checks that the outside names in a program are known, and that literal arguments are valid. */
export class KnownCheck {
  readonly #known: KnownNames;
  readonly #problems: Problems;
  readonly #tools: ByName<'tools'>;
  readonly #agents: ByName<'agents'>;
  readonly #programs: ByName<'programs'>;
  readonly #anchors: ByName<'anchors'>;

  constructor(known: KnownNames, problems: Problems) {
    this.#known = known;
    this.#problems = problems;
    this.#tools = itemsByName(known.tools);
    this.#agents = itemsByName(known.agents);
    this.#programs = itemsByName(known.programs);
    this.#anchors = itemsByName(known.anchors);
  }

  step({ kind, body, path }: OutlineStep, hasModel: boolean): void {
    const at = `${path}.${kind}`;
    const name = { text: textAt(body, 'name'), path: `${at}.name` };
    const lenientName = { ...name, lenient: true };
    switch (kind) {
      case 'ask':
        if (!hasModel && !('model' in body)) this.#problems.add(at, 'there is no model: write "model" here or at the program');
        this.model(textAt(body, 'model'), `${at}.model`);
        this.anchors(body, at);
        this.tools(body, at);
        return;
      case 'tool':
        return checkArguments(
          this.#find(this.#tools, 'tool', lenientName)?.schema,
          { value: body['arguments'] ?? {}, path: `${at}.arguments` },
          this.#problems,
        );
      case 'agent':
        return checkArguments(
          this.#find(this.#agents, 'agent', name)?.depsSchema,
          { value: body['deps'] ?? {}, path: `${at}.deps` },
          this.#problems,
        );
      case 'program':
        return checkArguments(
          this.#find(this.#programs, 'program', name)?.input,
          { value: body['input'] ?? {}, path: `${at}.input` },
          this.#problems,
        );
      case 'remember':
      case 'recall':
        if (this.#known.hasMemory === false) this.#problems.add(at, 'the worker has no memory: give it one with the option "memory"');
        return;
      default:
    }
  }

  /** Checks `provider/model`. */
  model(name: string, path: string): void {
    if (name === '') return;
    const slash = name.indexOf('/');
    if (slash <= 0 || slash === name.length - 1)
      return this.#problems.add(path, `the model ${quoted(name)} has no provider: write "provider/model"`);
    const provider = name.slice(0, slash);
    const { providers } = this.#known;
    if (providers === undefined || providers.includes(provider) || this.#known.isPartial === true) return;
    this.#problems.unknownName(path, `no provider of models is named ${quoted(provider)}`, { written: provider, known: providers });
  }

  anchors(value: OutlineStep['value'], path: string): void {
    for (const { text, index } of textsAt(value, 'anchors')) {
      this.#find(this.#anchors, 'anchor', { text, path: `${path}.anchors[${index}]`, lenient: true });
    }
  }

  tools(body: OutlineStep['body'], path: string): void {
    for (const { text, index } of textsAt(body, 'tools')) {
      this.#find(this.#tools, 'tool', { text, path: `${path}.tools[${index}]`, lenient: true });
    }
  }

  #find<One>(known: ReadonlyMap<string, One> | undefined, noun: string, { text, path, lenient = false }: NameAt): One | undefined {
    const found = known?.get(text);
    if (known === undefined || found !== undefined || text === '' || this.#known.isPartial === true) return found;
    this.#problems.unknownName(path, `no ${noun} is named ${quoted(text)}`, { written: text, known: known.keys(), lenient });
    return undefined;
  }
}

interface NameAt {
  text: string;
  path: string;
  lenient?: boolean;
}

type Item<Kind extends keyof KnownNames> = NonNullable<KnownNames[Kind]> extends readonly (infer One)[] ? One : never;
type ByName<Kind extends keyof KnownNames> = ReadonlyMap<string, Item<Kind>> | undefined;

function itemsByName<One extends { name: string }>(items: readonly One[] | undefined): ReadonlyMap<string, One> | undefined {
  return items === undefined ? undefined : new Map(items.map((item) => [item.name, item]));
}

/** Checks the literal parts of arguments against a schema. The unknown values of references count as valid. */
function checkArguments(schema: JsonObject | undefined, { value, path }: Part, problems: Problems): void {
  if (schema === undefined || !isJsonObject(value)) return;
  addJsonProblems(hasReferences(value) ? literalSchema(schema, value) : schema, { value, path }, problems);
}

/** The keywords that can be checked while parts of the value are unknown. */
const KEPT_KEYWORDS = ['type', 'required', 'minProperties', 'maxProperties', 'minItems', 'maxItems', '$defs'];

/** Returns a schema that accepts any value in the place of references, and is as strict as the given one elsewhere. */
function literalSchema(schema: JsonObject, value: JsonValue): JsonObject {
  if (typeof value === 'string') return wholeReference(value) === undefined ? pickKeywords(schema, ['type']) : {};
  if ('$ref' in schema || typeof value !== 'object' || value === null) return {};
  const kept = pickKeywords(schema, KEPT_KEYWORDS);
  if (Array.isArray(value)) return kept;
  const properties = propertiesOf(schema);
  const inner = Object.entries(value).map(([key, member]): [string, JsonValue] => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (own === undefined || !isJsonObject(own) || !hasReferences(member)) return [key, own ?? {}];
    return [key, literalSchema(own, member)];
  });
  const isClosed = schema['additionalProperties'] === false && !('patternProperties' in schema);
  const known = isClosed ? inner.filter(([key]) => Object.hasOwn(properties, key)) : inner;
  return { ...kept, properties: Object.fromEntries(known), ...(isClosed ? { additionalProperties: false } : {}) };
}

function pickKeywords(schema: JsonObject, keywords: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keywords.includes(keyword)));
}

function hasReferences(value: JsonValue): boolean {
  if (typeof value === 'string') return value.includes('{{') && parseTemplate(value).some((part) => typeof part !== 'string');
  return referencesIn(value).length > 0;
}
