import { z } from 'zod';
import type { ModelSettings } from '../core/domain/agent.ts';
import { canonicalJson, defined, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import { UsageError } from '../core/domain/errors.ts';
import { jsonSchemaOf } from '../schema/zod-schemas.ts';
import type { Instructions, ResourcesOfTools } from './agent-definition.ts';
import { both, type Contribution, contributions, mergedList } from './agent-part.ts';
import {
  BUNDLED_OPTIONS,
  type BundledFields,
  type BundledOptions,
  defineBundledParts,
  mergeBundledParts,
  type PartOptions,
} from './all-parts.ts';
import type { AnyTool, HostedToolDefinition, McpServerDefinition, NamesOfTools, ToolDefinition } from './tool-definition.ts';
import { checkMcpServers } from './mcp.ts';
import { checkSettings } from './model-settings.ts';
import { nonEmpty, type OptionTable, requireKnown, requireList, requireZod } from './option-checks.ts';
import { MAX_CAPABILITY_NAME } from '../core/domain/byte-budgets.ts';

/** The options of `defineCapability`: what it gives an agent. */
export interface CapabilityOptions<Deps extends z.ZodType, Tools extends ToolsFor<Deps> = ToolsFor<Deps>> extends BundledOptions<
  NamesOfTools<Tools>
> {
  /** One line of at most 64 characters, used in errors, records and the snapshots of runs. */
  name: string;
  /** Instructions, which the model reads after those of the agent. */
  instructions?: Instructions<DepsFor<Deps>>;
  /** The tools. A tool that reads deps fits only a capability whose deps have them. */
  tools?: Tools;
  /** MCP servers whose tools the agent also has. */
  mcp?: readonly McpServerDefinition[];
  /** Settings of the model. The agent's own settings override them. */
  settings?: ModelSettings;
  /** The schema of the data that it needs from a run: a start of the agent must provide it. */
  deps?: Deps;
}

const CAPABILITY_OPTIONS: OptionTable<CapabilityOptions<never>> = {
  name: true,
  instructions: true,
  tools: true,
  mcp: true,
  ...BUNDLED_OPTIONS,
  settings: true,
  deps: true,
};

/** A checked capability, as `defineCapability` returns it. Its type carries the types of its deps and of its tools' resources. */
export interface CapabilityDefinition<Deps = never, GivenDeps = Deps, Needed = never> extends BundledFields {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.capability';
  /** The name of the capability in errors and records. */
  readonly name: string;
  /** Instructions that are added to those of the agent. */
  readonly instructions?: Instructions<never>;
  /** Tools that are added. */
  readonly tools: readonly (AnyTool | HostedToolDefinition)[];
  /** MCP servers that are added. */
  readonly mcp: readonly McpServerDefinition[];
  /** Settings that apply where the agent has none. */
  readonly settings: ModelSettings;
  /** The zod schema of the deps that it reads. Absent: they are not checked. */
  readonly deps?: z.ZodType;
  /** Only a type: the deps as its tools see them. @internal */
  readonly [DEPS]?: (deps: Deps) => void;
  /** Only a type: the deps as a start gives them. @internal */
  readonly [GIVEN_DEPS]?: (deps: GivenDeps) => void;
  /** Only a type: what the worker has to have. @internal */
  readonly [RESOURCES]?: (resources: Needed) => void;
}

/** Keys that are never present at run time: they carry the types. */
declare const DEPS: unique symbol;
declare const GIVEN_DEPS: unique symbol;
declare const RESOURCES: unique symbol;

/** A capability of any types. */
export type AnyCapability = CapabilityDefinition<never, never, never>;

/** The intersection of the arguments of functions in a union; unknown if there are none. */
export type AllArguments<Functions> = [Functions] extends [never]
  ? unknown
  : [Functions] extends [(all: infer All) => void]
    ? All
    : unknown;

/** A type as the argument of a function, so that a union of them can become an intersection. `never` means no type. */
export type Argument<Type> = [Type] extends [never] ? never : (one: Type) => void;

/** The deps of a capability as an argument, so that those of several are intersected. */
export type DepsArgument<One> = One extends CapabilityDefinition<infer Deps, never, never> ? Argument<Deps> : never;
/** Like `DepsArgument`, with the deps as a start gives them. */
export type GivenDepsArgument<One> = One extends CapabilityDefinition<never, infer Given, never> ? Argument<Given> : never;
/** The resources that a capability asks its worker for. */
export type ResourcesOfCapability<One> = One extends CapabilityDefinition<never, never, infer Needed> ? Needed : never;

/** The resources that the tools of the capabilities name: a union with one member per capability. */
export type ResourcesOfCapabilities<Capabilities extends readonly AnyCapability[]> = ResourcesOfCapability<Capabilities[number]>;

/** Deps of a schema and of capabilities: any JSON object if none of them has deps. */
export type AllDeps<Own, OfCapabilities> = [Own] extends [never]
  ? unknown extends OfCapabilities
    ? JsonObject
    : OfCapabilities
  : Own & OfCapabilities;

/** The type of deps that functions receive: the output of the schemas. */
export type DepsFor<Deps extends z.ZodType, Capabilities extends readonly AnyCapability[] = readonly []> = AllDeps<
  [Deps] extends [never] ? never : z.output<Deps>,
  AllArguments<DepsArgument<Capabilities[number]>>
>;

/** The type of deps that a start takes: fields with a default may be left out. */
export type GivenDepsFor<Deps extends z.ZodType, Capabilities extends readonly AnyCapability[] = readonly []> = AllDeps<
  [Deps] extends [never] ? never : z.input<Deps>,
  AllArguments<GivenDepsArgument<Capabilities[number]>>
>;

/** The tools that an agent or a capability with these deps may have, with any resources. */
export type ToolsFor<Deps extends z.ZodType, Capabilities extends readonly AnyCapability[] = readonly []> = readonly (
  | ToolDefinition<never, DepsFor<Deps, Capabilities>, unknown, never>
  | HostedToolDefinition
)[];

/**
 * Bundles instructions, tools, rules and checks for one purpose. An agent lists it in its option `capabilities`.
 * Throws a `UsageError` that names the capability and the option if an option cannot work.
 *
 * @example
 * export const refunds = defineCapability({
 *   name: 'refunds',
 *   instructions: 'Refund only what was delivered broken.',
 *   tools: [lookUpOrder, refund],
 *   permissions: { ask: ['refund'] },
 *   deps: z.object({ customer: z.string() }),
 * });
 */
export function defineCapability<Deps extends z.ZodType = never, const Tools extends ToolsFor<Deps> = readonly []>(
  options: CapabilityOptions<Deps, Tools>,
): CapabilityDefinition<
  [Deps] extends [never] ? never : z.output<Deps>,
  [Deps] extends [never] ? never : z.input<Deps>,
  ResourcesOfTools<Tools>
> {
  const name = checkName(options.name);
  const owner = `capability "${name}"`;
  requireKnown(owner, options, CAPABILITY_OPTIONS);
  const { instructions, tools = [], mcp = [], settings = {}, deps } = options;
  checkTools(owner, tools);
  checkMcpServers(owner, mcp);
  const parts = defineBundledParts(owner, options, name);
  if (deps !== undefined) checkDeps(owner, deps);
  return Object.freeze({
    kind: 'longhaul.capability',
    name,
    ...(instructions === undefined ? {} : { instructions: checkInstructions<never>(owner, instructions) }),
    tools: tools.map((tool) => ({ ...tool, capability: name })),
    // Connections are shared per definition: all agents with the capability use the same one.
    mcp: mcp.map((server) => ({ ...server, capability: name })),
    ...parts,
    settings: checkSettings(owner, settings, { tools: undefined, output: undefined }),
    ...defined({ deps }),
  });
}

function checkName(name: unknown): string {
  const text = nonEmpty('the "name" of a capability', name);
  if (text.length <= MAX_CAPABILITY_NAME && !/[\p{Cc}\p{Cs}]/u.test(text)) return text;
  const shown = JSON.stringify(text.slice(0, MAX_CAPABILITY_NAME));
  throw new UsageError(`capability ${shown}: a name is one line of at most ${MAX_CAPABILITY_NAME} characters`);
}

/** Returns the instructions if they are valid; otherwise throws a UsageError. */
export function checkInstructions<Deps>(owner: string, instructions: Instructions<Deps>): Instructions<Deps> {
  if (typeof instructions === 'function' || typeof instructions === 'string') return instructions;
  if (Array.isArray(instructions) && instructions.every((text) => typeof text === 'string')) return instructions;
  throw new UsageError(`${owner}: "instructions" must be a text, a list of texts, or a function of the deps`);
}

/** Throws a UsageError for a value that is not a tool, and for two tools with the same name. */
export function checkTools(owner: string, tools: readonly (AnyTool | HostedToolDefinition)[]): void {
  const names = new Set<string>();
  for (const tool of requireList(`${owner}: "tools"`, tools, 'tools: [search, refund], of what defineTool returned')) {
    if (tool?.kind !== 'longhaul.tool' && tool?.kind !== 'longhaul.hosted_tool') {
      throw new UsageError(`${owner}: "tools" has a value that is not a tool: make it with defineTool`);
    }
    if (names.has(tool.name)) throw new UsageError(`${owner} has two tools named "${tool.name}": give each its own name`);
    names.add(tool.name);
  }
}

/** Returns the JSON Schema of the deps. They are stored as JSON and parsed before each use: both sides of the schema must be JSON. */
export function checkDeps(owner: string, deps: z.ZodType): JsonObject {
  requireZod(`${owner}: "deps"`, deps);
  const schema = jsonSchemaOf(deps, `${owner}: deps`);
  if (schema['type'] !== 'object') throw new UsageError(`${owner}: deps are not an object schema: write z.object({...})`);
  jsonSchemaOf(deps, `${owner}: deps`, 'output');
  return schema;
}

/** The options of an agent that capabilities add to. */
interface MergedOptions extends PartOptions {
  capabilities?: readonly AnyCapability[];
  instructions: Instructions<never>;
  tools?: readonly (AnyTool | HostedToolDefinition)[];
  mcp?: readonly McpServerDefinition[];
  settings?: ModelSettings;
  deps?: z.ZodType;
}

/**
 * Merges what its capabilities bring into the options of an agent: first the agent's own, then the capabilities' in order. Throws a
 * UsageError that names both if two of them conflict. The values of the options are checked later, with the agent.
 */
export function mergeCapabilities<Options extends MergedOptions>(owner: string, options: Options): Options {
  const { capabilities } = options;
  if (capabilities === undefined) return options;
  checkCapabilities(owner, capabilities);
  if (capabilities.length === 0) return options;
  const parts = <Value>(own: Value | undefined, of: (capability: AnyCapability) => Value | undefined): Contribution<Value>[] =>
    contributions(owner, own, capabilities, of);
  const deps = parts(options.deps, (one) => one.deps);
  const merged = {
    instructions: mergedInstructions(
      owner,
      parts(options.instructions, ({ instructions }) => instructions),
    ),
    ...defined({
      tools: mergedList(owner, options.tools, capabilities, {
        of: ({ tools }) => tools,
        named: { what: 'a tool', nameOf: quotedName },
      }),
      mcp: mergedList(owner, options.mcp, capabilities, {
        of: ({ mcp }) => mcp,
        named: { what: 'an MCP server', nameOf: quotedName },
      }),
    }),
    ...mergeBundledParts(owner, options, capabilities),
    ...mergedSettings(owner, options.settings, capabilities),
    ...(deps.length === 0 ? {} : { deps: mergedDeps(owner, deps) }),
  };
  return { ...options, ...merged };
}

function checkCapabilities(owner: string, capabilities: readonly AnyCapability[]): void {
  if (!Array.isArray(capabilities)) throw new UsageError(`${owner}: "capabilities" must be a list: make its entries with defineCapability`);
  const names = new Set<string>();
  for (const one of capabilities as readonly (AnyCapability | null | undefined)[]) {
    if (one?.kind !== 'longhaul.capability') {
      throw new UsageError(`${owner}: "capabilities" has a value that is not a capability: make it with defineCapability`);
    }
    if (names.has(one.name)) throw new UsageError(`${owner} has two capabilities named "${one.name}": give each its own name`);
    names.add(one.name);
  }
}

function quotedName({ name }: { name: string }): string {
  return `"${name}"`;
}

/** Returns all instructions as one: a list of texts, or a function if one of them is a function of the deps. */
function mergedInstructions(owner: string, parts: readonly Contribution<Instructions<never>>[]): Instructions<never> {
  const all = parts.map(({ value }) => checkInstructions(owner, value));
  const texts = all.filter((one) => typeof one !== 'function');
  if (texts.length === all.length) return texts.flat();
  return async (deps) => (await Promise.all(all.map(async (one) => (typeof one === 'function' ? await one(deps) : one)))).flat();
}

/** Merges the settings of the agent and its capabilities. The agent's own settings win. */
function mergedSettings(
  owner: string,
  own: ModelSettings | undefined,
  capabilities: readonly AnyCapability[],
): Pick<MergedOptions, 'settings'> {
  const found = new Map<string, Contribution<JsonValue>>();
  for (const { name, settings } of capabilities) {
    for (const [setting, value] of Object.entries(settings) as [string, JsonValue | undefined][]) {
      if (value === undefined) continue;
      const from = `capability "${name}"`;
      const before = found.get(setting) ?? { from, value };
      if (own?.[setting as keyof ModelSettings] === undefined && canonicalJson(before.value) !== canonicalJson(value)) {
        throw new UsageError(
          `${both(owner, before.from, from)} set "settings.${setting}" to ${JSON.stringify(before.value)} and ${JSON.stringify(value)}: set it in the "settings" of the agent, which decides`,
        );
      }
      found.set(setting, before);
    }
  }
  if (found.size === 0) return {};
  const given = Object.fromEntries([...found].map(([setting, { value }]) => [setting, value])) as ModelSettings;
  return { settings: own === undefined ? given : { ...given, ...defined(own) } };
}

/**
 * Returns one schema with the fields of all. A field that occurs in several must accept and return the same, and each of them parses
 * it, so no check is lost.
 */
function mergedDeps(owner: string, parts: readonly Contribution<z.ZodType>[]): z.ZodType {
  const [first, ...others] = parts;
  if (first !== undefined && others.length === 0) return first.value;
  const fields = new Map<string, Contribution<z.core.$ZodType>>();
  let isStrict = false;
  for (const { from, value } of parts) {
    checkDeps(from, value);
    const { shape, strict } = plainObject(owner, from, value);
    isStrict ||= strict;
    for (const [name, field] of Object.entries(shape)) {
      const before = fields.get(name);
      fields.set(name, {
        from: before?.from ?? from,
        value: before === undefined ? field : sameField(owner, name, before, { from, value: field }),
      });
    }
  }
  const shape = Object.fromEntries([...fields].map(([name, { value }]) => [name, value]));
  return isStrict ? z.strictObject(shape) : z.object(shape);
}

/** Returns the fields of an object schema. Throws a UsageError for a schema that is more than its fields. */
function plainObject(
  owner: string,
  from: string,
  schema: z.core.$ZodType,
): { shape: Readonly<Record<string, z.core.$ZodType>>; strict: boolean } {
  const { def } = schema._zod;
  const problem = 'it cannot be merged with the deps of the others';
  if (!isObjectDef(def))
    throw new UsageError(`${owner}: "deps" of ${from} are not a plain z.object({...}): ${problem}: write z.object({...})`);
  const catchall = def.catchall?._zod.def.type;
  if (catchall !== undefined && catchall !== 'never') {
    throw new UsageError(`${owner}: "deps" of ${from} let in fields that they do not name: ${problem}: write z.object({...})`);
  }
  if (def.checks !== undefined && def.checks.length > 0) {
    throw new UsageError(`${owner}: "deps" of ${from} have a check of the whole object: ${problem}: check a single field instead`);
  }
  return { shape: def.shape, strict: catchall === 'never' };
}

function isObjectDef(def: z.core.$ZodTypeDef): def is z.core.$ZodObjectDef {
  return def.type === 'object';
}

/**
 * Returns the schema of a field that two parts have: first one schema, then the other. Throws a UsageError if the second could not
 * read what the first returns, or if their JSON Schemas differ.
 */
function sameField(owner: string, name: string, one: Contribution<z.core.$ZodType>, other: Contribution<z.core.$ZodType>): z.core.$ZodType {
  if (one.value === other.value) return one.value;
  const json = ({ from, value }: Contribution<z.core.$ZodType>, side: 'input' | 'output'): string =>
    canonicalJson(jsonSchemaOf(z.object({ [name]: value }), `${from}: deps`, side));
  const bare = (side: 'input' | 'output'): string => canonicalJson(jsonSchemaOf(z.array(one.value), `${one.from}: deps`, side));
  const isSame = json(one, 'input') === json(other, 'input') && json(one, 'output') === json(other, 'output');
  if (isSame && bare('input') === bare('output')) return z.pipe(one.value, other.value);
  throw new UsageError(
    `${both(owner, one.from, other.from)} have two schemas of "deps.${name}" that do not fit each other: use one schema in both, or give the fields different names`,
  );
}
