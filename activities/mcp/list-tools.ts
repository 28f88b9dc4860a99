import { createHash } from 'node:crypto';
import { spellingProblem } from '../../src/core/code/callable-tools.ts';
import type { ToolSnapshot } from '../../src/core/domain/agent.ts';
import type { CodeLanguage } from '../../src/core/domain/code.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import type { Notice } from '../../src/core/domain/run.ts';
import { dereference, mapSubschemas } from '../../src/core/json-schema/json-schema.ts';
import type { McpEffect, McpServerDefinition } from '../../src/define/tool-definition.ts';
import { portableSchema } from '../../src/schema/portable-schema.ts';
import { toStrictJsonSchema } from '../../src/schema/strict-json-schema.ts';
import { checkableSchema, FURTHER_TOOLS, modernSchema, nameOfTool, type ReadTool, readTool, references } from './read-tool.ts';
import type { McpPool, McpTools } from './mcp-pool.ts';

/** The input of a listing of tools. */
interface Listing {
  pool: Pick<McpPool, 'tools'>;
  servers: readonly McpServerDefinition[];
  /** Names that the tools must not get. */
  taken: ReadonlySet<string>;
  /** The language of the agent's code, which calls the tools by name. */
  language?: CodeLanguage | undefined;
  stop: AbortSignal;
}

/** The tools of an agent's servers. */
export interface ListedMcpTools {
  tools: ToolSnapshot[];
  /** Omissions and changes that make the list usable, by the servers' names. The texts quote the servers. */
  notices: Notice[];
}

/** A tool and its server. */
interface Usable {
  server: McpServerDefinition;
  tool: ReadTool;
}

/**
 * Returns the tools of an agent's servers in pinned form, sorted by name. Unusable tools are left out. Throws `mcp_unreachable` for a
 * server that does not answer, and `invalid_agent` for a server that lacks a tool that the agent names.
 */
export async function listMcpTools({ pool, servers, taken, language, stop }: Listing): Promise<ListedMcpTools> {
  const lists = await Promise.all(servers.map(async (server) => ({ server, listed: await pool.tools(server, stop) })));
  const notices: Notice[] = [];
  const usable = lists.flatMap(({ server, listed }) => usableTools(server, listed, notices));
  const names = nameTools(
    usable.map(({ server, tool }) => ({ server: server.name, tool: tool.name, prefix: server.prefix })),
    taken,
    language,
  );
  const tools = usable.map((one, index) => toolSnapshot(one, names[index] ?? one.tool.name));
  return { tools: tools.toSorted((a, b) => (a.name < b.name ? -1 : 1)), notices };
}

/** Returns the tools that the agent includes, each once, and adds notices about them for a person. Other tools are not examined. */
function usableTools(server: McpServerDefinition, listed: McpTools, notices: Notice[]): Usable[] {
  const { name: owner, include, exclude } = server;
  const note = (tool: string, message: string): void => {
    notices.push({ code: 'tool_adapted', message: `MCP server ${JSON.stringify(owner)}: ${tool} ${message}` });
  };
  const byName = new Map<string, JsonObject>();
  const isChosen = (name: string): boolean => (include === undefined || include.includes(name)) && !exclude.includes(name);
  listed.forEach((one, index) => {
    if (one === FURTHER_TOOLS) {
      note('the list of tools', `is too long: those after the first ${index} are left out`);
      return;
    }
    const name = nameOfTool(one);
    if (name === undefined || !isJsonObject(one)) {
      if (include === undefined) note(`the tool at position ${index + 1}`, 'is left out: it has no name');
      return;
    }
    const first = byName.get(name);
    if (first === undefined) byName.set(name, one);
    else if (isChosen(name) && JSON.stringify(first) !== JSON.stringify(one))
      note(`tool ${quotedName(name)}`, 'is listed twice, with differences: the first one is used');
  });
  requireNamed(server, byName);
  return [...byName].flatMap(([name, one]): Usable[] => {
    if (!isChosen(name)) return [];
    const tool = readTool(one, name);
    if (tool.problem === undefined) {
      for (const change of tool.changes) note(`tool ${quotedName(name)}`, change);
      return [{ server, tool }];
    }
    if (include !== undefined) {
      throw new LonghaulError(
        'invalid_agent',
        `MCP server "${owner}" has the tool ${quotedName(name)}, which "tools.include" of the agent names, but it cannot be used: ${tool.problem}. Take it out, or correct the server`,
      );
    }
    note(`tool ${quotedName(name)}`, `is left out: ${tool.problem}`);
    return [];
  });
}

/** Returns the name of a tool for a message. */
function quotedName(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100).toWellFormed()}…` : name);
}

function requireNamed({ name, include, exclude }: McpServerDefinition, byName: ReadonlyMap<string, unknown>): void {
  const missing = [...(include ?? []), ...exclude].find((one) => !byName.has(one));
  if (missing === undefined) return;
  const known = [...byName.keys()].toSorted().join(', ') || 'none';
  throw new LonghaulError(
    'invalid_agent',
    `MCP server "${name}" has no tool "${missing}", which "tools" of the agent names (it has: ${known}). Correct the name, or take it out`,
  );
}

function toolSnapshot({ server, tool }: Usable, name: string): ToolSnapshot {
  const { approval } = server;
  const callers = server.callersOf(tool.name);
  return {
    name,
    ...defined({ capability: server.capability }),
    description: tool.description,
    ...pinSchema(tool.input),
    parallel: true,
    ...server.policies[effectOf(server, tool)],
    maxResultBytes: server.maxResultBytes,
    ...(approval === undefined ? {} : { approval: { ...approval, when: approval.when === 'always' ? 'always' : 'predicate' } }),
    ...(callers === undefined ? {} : { callers: [...callers] }),
    mcp: { server: server.name, tool: tool.name },
  };
}

/** Returns the effect of a tool. A tool without a declaration must not run twice, which is also the protocol's assumption. */
function effectOf(server: McpServerDefinition, { name, isRepeatable }: ReadTool): McpEffect {
  return server.effectOf(name) ?? (isRepeatable ? 'idempotent' : 'once');
}

/** The pinned schemas of a tool. */
type PinnedSchema = Pick<ToolSnapshot, 'parameters' | 'schema' | 'strict'>;

/** The maximum number of subschemas of a schema whose references are resolved in place. */
const MAX_SCHEMAS = 2_000;

/**
 * Returns a tool's schemas from the server's object schema: one that checks arguments like the server, and one that is sent to providers.
 */
export function pinSchema(input: JsonObject): PinnedSchema {
  const schema = checkableSchema(input);
  const modern = modernSchema(input);
  const conversion = schema['properties'] === undefined ? undefined : strictConversion(modern);
  if (conversion !== undefined) return { parameters: conversion, schema, strict: true };
  return { parameters: portableSchema(modern), schema, strict: false };
}

function strictConversion(schema: JsonObject): JsonObject | undefined {
  const whole = references(schema).length === 0 ? schema : withoutReferences(schema);
  const conversion = whole === undefined ? undefined : toStrictJsonSchema(whole);
  return conversion?.strict ? conversion.schema : undefined;
}

/** Resolves the references of a schema in place; undefined if one is dangling or circular. */
function withoutReferences(root: JsonObject): JsonObject | undefined {
  let left = MAX_SCHEMAS;
  let isWhole = true;
  const resolve = (schema: JsonObject, from: readonly JsonValue[]): JsonObject => {
    left -= 1;
    const { $ref: reference, ...rest } = schema;
    if (left < 0 || (reference !== undefined && from.includes(reference))) {
      isWhole = false;
      return {};
    }
    if (reference === undefined) return mapSubschemas(schema, (inner) => resolve(inner, from));
    const target = dereference({ $ref: reference }, root);
    isWhole &&= target !== undefined;
    return resolve({ ...target, ...rest }, [...from, reference]);
  };
  const { $defs: _definitions, ...own } = root;
  const resolved = resolve(own, []);
  return isWhole && isJsonObject(resolved) ? resolved : undefined;
}

/** A tool of a server that needs a name for an agent. */
export interface UnnamedTool {
  server: string;
  tool: string;
  /** A prefix that the name always gets. */
  prefix?: string | undefined;
}

/** The longest name that providers accept. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * Returns the names of the tools, in the same order: the server's own name, in characters that providers accept; if that is taken, or two
 * tools would have it, `server_tool`; if that is not unique either, the same with a few digits of a hash. The names depend on the set of
 * tools, not on their order. Names in `taken` are not used; with a `language`, neither are names that its code could not call.
 */
export function nameTools(tools: readonly UnnamedTool[], taken: ReadonlySet<string>, language?: CodeLanguage): string[] {
  const clean = language === undefined ? cleanName : codeIdentifier;
  const isUsable = (name: string): boolean => !taken.has(name) && (language === undefined || spellingProblem(name, language) === undefined);
  const shortest = tools.map(({ tool, prefix }) => clean(prefix === undefined ? tool : `${prefix}_${tool}`));
  const withServer = tools.map(({ server, tool }) => clean(`${server}_${tool}`));
  const first = uniqueNames(shortest, isUsable);
  const firstNames = new Set(first.filter((name) => name !== undefined));
  const second = uniqueNames(
    withServer.map((name, index) => (first[index] === undefined ? name : undefined)),
    (name) => isUsable(name) && !firstNames.has(name),
  );
  return tools.map((tool, index) => first[index] ?? second[index] ?? hashedName(tool, clean));
}

/** Returns the candidates that are short enough, usable, and unique. */
function uniqueNames(candidates: readonly (string | undefined)[], isUsable: (name: string) => boolean): (string | undefined)[] {
  return candidates.map((name) => {
    if (name === undefined || name === '' || name.length > MAX_LENGTH || !isUsable(name) || name.startsWith('__')) return undefined;
    return candidates.filter((other) => other === name).length === 1 ? name : undefined;
  });
}

function hashedName({ server, tool }: UnnamedTool, clean: (name: string) => string): string {
  const hash = createHash('sha256').update(`${server}\0${tool}`).digest('hex').slice(0, HASH_LENGTH);
  return `${clean(`${server}_${tool}`).slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

/** Replaces the characters that providers refuse. */
function cleanName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
}

/** Replaces the characters that code cannot have in a name. */
function codeIdentifier(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=[0-9])/, '_');
}
