import type { ContentPart } from '../../src/core/domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { checkJson, problemsText } from '../../src/core/json-schema/check-json-schema.ts';
import type { RunContext } from '../../src/define/context.ts';
import { type AnyTool, type McpServerDefinition, ToolFailure, type ToolOutput, toolOutput } from '../../src/define/tool-definition.ts';
import type { ToolApproval } from '../../src/define/approvals.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import { ordinaryTool } from '../worker-part.ts';
import { UnknownOutcome } from '../tool-calls/execute-tool.ts';
import { checkableSchema, nameOfTool, readTool } from './read-tool.ts';
import type { McpProgress } from './mcp-connection.ts';
import type { McpPool, McpTools } from './mcp-pool.ts';

/** A pinned tool of a server. */
export interface PinnedTool {
  /** The name for the model. */
  name: string;
  /** The server's name. */
  tool: string;
  /** True if its calls must not run twice. */
  once: boolean;
}

/** The maximum characters of a server's message in an error and in a heartbeat. */
const MESSAGE_CHARS = 2_000;
const PROGRESS_CHARS = 500;

/** Returns a tool of an MCP server. Its arguments are also checked with the server's current schema. */
export function mcpToolDefinition(pool: Pick<McpPool, 'call'>, server: McpServerDefinition, pinned: PinnedTool): AnyTool {
  const { approval, maxResultBytes, overflow } = server;
  return {
    ...ordinaryTool(pinned.name, (args: JsonObject, context: RunContext) => callMcpTool({ pool, server, pinned }, args, context)),
    policy: server.policies[pinned.once ? 'once' : 'idempotent'],
    maxResultBytes,
    overflow,
    ...(approval === undefined ? {} : { approval: approvalOf(approval, pinned.tool) }),
  };
}

interface Destination {
  pool: Pick<McpPool, 'call'>;
  server: McpServerDefinition;
  pinned: PinnedTool;
}

/**
 * Calls a tool of a server. Throws a `ToolFailure` if the server refuses, `UnknownOutcome` for a call that must not run twice but may have
 * run, and `mcp_unreachable` or another error for a retryable failure.
 */
async function callMcpTool({ pool, server, pinned }: Destination, args: JsonObject, context: RunContext): Promise<ToolOutput> {
  const { tool, once } = pinned;
  const { idempotencyKey, signal } = context;
  const onProgress = (reported: McpProgress): void => {
    const progress = progressDetails(reported);
    context.heartbeat(progress);
    context.emit('progress', progress);
  };
  const request = { tool, args, idempotencyKey, signal, onProgress };
  let output: JsonObject | undefined;
  const outcome = await pool.call(server, request, (tools) => {
    const current = currentTool(tools, tool);
    output = current?.output;
    return problemOf(current, { tool, args, server: server.name });
  });
  switch (outcome.type) {
    case 'answered': {
      const { content, isError } = resultContent(outcome.result, output);
      return toolOutput(content, { isError });
    }
    case 'refused':
      throw new ToolFailure(cutServerText(outcome.message, MESSAGE_CHARS));
    case 'not_sent':
      throw new Error(`MCP server "${server.name}" did not get the call: ${cutServerText(outcome.message, MESSAGE_CHARS)}`);
    case 'lost': {
      const message = `MCP server "${server.name}" did not answer the call: ${cutServerText(outcome.message, MESSAGE_CHARS)}`;
      throw once ? new UnknownOutcome(message) : new Error(message);
    }
  }
}

/** The server's current version of a tool. */
interface CurrentTool {
  /** Absent if its schema has become unusable: then only the server checks the arguments. */
  schema?: JsonObject;
  output?: JsonObject;
}

/** Tools by their entry in the list: a connection lists tools rarely and calls them often. */
const current = new WeakMap<object, CurrentTool>();

function currentTool(tools: McpTools, name: string): CurrentTool | undefined {
  const listed = tools.find((one) => nameOfTool(one) === name);
  if (!isJsonObject(listed)) return undefined;
  const known = current.get(listed);
  if (known !== undefined) return known;
  const read = readTool(listed, name);
  const tool =
    read.problem === undefined
      ? { schema: checkableSchema(read.input), ...(read.output === undefined ? {} : { output: checkableSchema(read.output) }) }
      : {};
  current.set(listed, tool);
  return tool;
}

/** Returns why the server can no longer take the call: a run keeps its initial tools. */
function problemOf(
  known: CurrentTool | undefined,
  { tool, args, server }: { tool: string; args: JsonObject; server: string },
): string | undefined {
  if (known === undefined)
    return `MCP server "${server}" has no tool "${tool}" any more: it was removed since this run began. Continue without it`;
  const problems = checkJson(known.schema ?? {}, args);
  if (problems.length === 0) return undefined;
  return `MCP server "${server}" has changed the arguments of "${tool}" since this run began, and these do not fit: ${problemsText(problems)}`;
}

/** Adapts the server's predicate to the one of a tool. */
function approvalOf({ when, ...terms }: NonNullable<McpServerDefinition['approval']>, tool: string): ToolApproval {
  if (when === 'always') return { when, ...terms };
  return { ...terms, when: (args: JsonObject, context) => when({ tool, args }, context) };
}

function progressDetails({ progress, total, message }: McpProgress): JsonObject {
  return {
    progress,
    ...defined({ total }),
    ...(message === undefined ? {} : { message: cutServerText(message, PROGRESS_CHARS) }),
  };
}

function cutServerText(text: string, chars: number): string {
  return text.toWellFormed().slice(0, chars).toWellFormed();
}

/** A result of a server as the content of a tool result. */
export interface McpContent {
  content: JsonValue[];
  isError: boolean;
}

/** Fields of a result that are not its content. */
const ENVELOPE = ['content', 'structuredContent', 'isError', '_meta', 'resultType', 'ttlMs', 'cacheScope'];

/** The maximum characters of a text inside a part of an unknown type: longer ones are data that nobody reads. */
const MAX_FIELD = 4_000;

/** The maximum characters of the problems of structured content. */
const MAX_PROBLEMS = 500;

/** A part of a result: text, media, or a note about unreadable content. */
type ResultPart = { text: string } | { media: ContentPart } | { note: string };

/**
 * Converts a server's answer to a tool result: first the readable part as one value, which the model reads, then media. A text that only
 * repeats the structured content is dropped. The result is not trusted, and may be anything: readable parts are kept, others are described.
 * The tool has acted, so an invalid result is never an error of the call. `outputSchema`: the tool's schema of its structured content.
 */
export function resultContent(answer: unknown, outputSchema?: JsonObject): McpContent {
  const { result, lost } = cleanResult(answer);
  const { content, structuredContent = null, isError } = isJsonObject(result) ? result : { content: result };
  const hasFailed = isError === true || isError === 'true' || isError === 1;
  const parts = partsOf(content);
  const value = structuredContent ?? otherFields(result);
  const notes = [...lost, ...parts.flatMap((part) => ('note' in part ? [part.note] : []))];
  const misfit = structuredContent === null || hasFailed ? undefined : misfitOf(structuredContent, outputSchema);
  if (misfit !== undefined) notes.push(misfit);
  const texts = parts.flatMap((part) => ('text' in part ? [part.text] : []));
  const media = parts.flatMap((part): JsonValue[] => ('media' in part ? [{ ...part.media }] : []));
  const [read] = readableParts(texts, value ?? undefined);
  const all = withNotes(read, notes);
  // A result may be empty, but not because it was unreadable.
  if (all === undefined && media.length === 0 && !isEmptyResult(result))
    return { content: [actedNote('its result has no content')], isError: hasFailed };
  return { content: [...(all === undefined ? [] : [all]), ...media], isError: hasFailed };
}

/** Returns an answer as JSON, and the names of the parts that are not JSON. */
function cleanResult(answer: unknown): { result: JsonValue; lost: string[] } {
  const tooDeep = 'is nested too deep to be read';
  if (!isJsonObject(answer)) {
    const result = cleanJson(answer ?? null);
    return result === undefined ? { result: {}, lost: [`its result ${tooDeep}`] } : { result, lost: [] };
  }
  const fields = Object.entries(answer).map(([name, value]) => [name, cleanJson(value)] as const);
  const lost = fields
    .filter(([name, value]) => value === undefined && name !== '_meta')
    .map(([name]) => `${JSON.stringify(name)} of its result ${tooDeep}`);
  return { result: Object.fromEntries(fields.filter((field): field is [string, JsonValue] => field[1] !== undefined)), lost };
}

/** Adds notes to the value that the model reads. */
function withNotes(read: JsonValue | undefined, notes: readonly string[]): JsonValue | undefined {
  if (notes.length === 0) return read;
  const note = actedNote(notes.join('; '));
  if (read === undefined) return note;
  return typeof read === 'string' ? `${read}\n${note}` : { result: read, note };
}

function actedNote(what: string): string {
  return `[The tool has acted, but ${what}]`;
}

function isEmptyResult(result: JsonValue): boolean {
  return isJsonObject(result) && Array.isArray(result['content']) && result['content'].length === 0;
}

function misfitOf(value: JsonValue, schema: JsonObject | undefined): string | undefined {
  const problems = schema === undefined ? [] : checkJson(schema, value);
  if (problems.length === 0) return undefined;
  return `the structured content does not fit the output schema of the tool: ${problemsText(problems).slice(0, MAX_PROBLEMS).toWellFormed()}`;
}

/** Returns the fields of a result that has neither content nor structured content; older servers answer with `toolResult`. */
function otherFields(result: JsonValue): JsonValue | undefined {
  if (!isJsonObject(result) || (result['content'] ?? null) !== null) return undefined;
  const { toolResult } = result;
  if (toolResult !== undefined && toolResult !== null) return toolResult;
  if (isPart(result)) return undefined;
  const others = Object.entries(result).filter(([name, value]) => !ENVELOPE.includes(name) && value !== null);
  return others.length === 0 ? undefined : Object.fromEntries(others);
}

/** Returns texts and structured content as at most one value. */
function readableParts(texts: string[], value: JsonValue | undefined): JsonValue[] {
  const text = texts.join('\n').toWellFormed();
  if (value === undefined) return texts.length === 0 ? [] : [text];
  if (texts.every((one) => saysTheSame(one, value))) return [isMediaLike(value) ? { structuredContent: value } : value];
  return onlyText(value) === text ? [text] : [{ text, structuredContent: value }];
}

/** True for a value that would be mistaken for a media part, whose URL the model's provider fetches. */
function isMediaLike(value: JsonValue): boolean {
  return isJsonObject(value) && 'type' in value && ('url' in value || 'data' in value);
}

function saysTheSame(text: string, value: JsonValue): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

/** Returns the only text in a value, unwrapped; undefined for a value with more. */
function onlyText(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  const members = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  const [only] = members;
  return only !== undefined && members.length === 1 ? onlyText(only) : undefined;
}

/** Reads content, which should be a list of parts. */
function partsOf(content: JsonValue | undefined): ResultPart[] {
  if (content === undefined || content === null) return [];
  return Array.isArray(content) ? content.flatMap(partOf) : partOf(content);
}

/** Reads one part; null is no part. */
function partOf(part: JsonValue): ResultPart[] {
  if (part === null) return [];
  if (typeof part === 'string') return [{ text: part }];
  if (!isJsonObject(part)) return [{ text: JSON.stringify(part) }];
  if (Object.keys(part).length === 0) return [];
  const { type, text } = part;
  switch (type) {
    case 'image':
    case 'audio':
      return [mediaPart(type, part)];
    case 'resource_link':
      return [{ text: linkText(part) }];
    case 'resource':
      return resourceParts(isJsonObject(part['resource']) ? part['resource'] : part);
    case 'text':
      return textParts(text);
    default:
      return unknownPart(part);
  }
}

/** True for a result that is itself a part, not in a list. */
function isPart({ type, text }: JsonObject): boolean {
  return typeof type === 'string' && typeof text === 'string';
}

function textParts(text: JsonValue | undefined): ResultPart[] {
  if (text === undefined || text === null) return [];
  return [{ text: typeof text === 'string' ? text : JSON.stringify(text) }];
}

/** Reads a part of a type that the protocol does not have: its text, media in the form of a provider, or all of it as JSON. */
function unknownPart(part: JsonObject): ResultPart[] {
  const { type, text } = part;
  if (typeof text === 'string') return [{ text }];
  const image = part['image_url'];
  const url = isJsonObject(image) ? image['url'] : image;
  if (typeof url === 'string') return [mediaPart('image', { data: url })];
  if (type === undefined && typeof part['data'] === 'string') {
    const kind = mediaKind(part['mimeType']);
    if (kind !== 'file') return [mediaPart(kind, part)];
  }
  if (type === undefined && isJsonObject(part['resource'])) return resourceParts(part['resource']);
  return [{ text: JSON.stringify(withoutData(part)) }];
}

/** Cuts long texts, which are data in a part of an unknown type. */
function withoutData(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.length <= MAX_FIELD ? value : `[${value.length} characters]`;
  if (Array.isArray(value)) return value.map(withoutData);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutData(one)]));
}

function mediaPart(type: 'image' | 'audio', part: JsonObject): ResultPart {
  const source = isJsonObject(part['source']) ? part['source'] : part;
  const given = source['data'] ?? source['url'] ?? source['uri'];
  if (typeof given !== 'string' || given.trim() === '') return { note: `${withArticle(type)} of its result has no data` };
  if (/^https?:\/\//i.test(given)) return { text: `[${type === 'image' ? 'Image' : 'Audio'} at ${given}]` };
  const read = base64(given);
  if (read === undefined) return { note: `${withArticle(type)} of its result cannot be read: its data is not base64` };
  return { media: { type, data: read.data, ...mediaType(source['mimeType'] ?? source['media_type'] ?? read.mediaType) } };
}

function withArticle(type: 'image' | 'audio'): string {
  return type === 'image' ? 'an image' : 'a recording';
}

/** Converts a link to text: it is meant for the server's tools, and the model's provider might follow it. */
function linkText(link: JsonObject): string {
  const [title, name, uri, mimeType, description] = ['title', 'name', 'uri', 'mimeType', 'description'].map((field) =>
    textValue(link[field]),
  );
  const about = [mimeType, description].filter((one) => one !== undefined).join(': ');
  const named = title ?? name;
  const where = uri === undefined ? '' : named === undefined ? ` ${uri}` : ` at ${uri}`;
  return `[Resource${named === undefined ? '' : ` "${named}"`}${where}${about === '' ? '' : ` (${about})`}]`;
}

function textValue(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function resourceParts(resource: JsonObject): ResultPart[] {
  const uri = textValue(resource['uri']);
  const head = `[Resource${uri === undefined ? '' : ` ${uri}`}]`;
  const { text, blob } = resource;
  if (text !== undefined && text !== null) return [{ text: `${head}\n${typeof text === 'string' ? text : JSON.stringify(text)}` }];
  if (typeof blob !== 'string' || blob.trim() === '') return [{ text: head }];
  const read = base64(blob);
  if (read === undefined)
    return [
      { text: head },
      { note: `the resource${uri === undefined ? '' : ` ${uri}`} of its result cannot be read: its data is not base64` },
    ];
  const given = resource['mimeType'] ?? read.mediaType;
  const type = mediaKind(given);
  const source = { data: read.data, ...mediaType(given) };
  return [{ media: type === 'file' ? { type, name: uri?.split('/').at(-1) || uri || 'resource', ...source } : { type, ...source } }];
}

function mediaKind(type: JsonValue | undefined): 'image' | 'audio' | 'file' {
  const kind = typeof type === 'string' ? type.split('/')[0] : undefined;
  return kind === 'image' || kind === 'audio' ? kind : 'file';
}

function mediaType(type: JsonValue | undefined): { mediaType?: string } {
  return typeof type === 'string' && type.trim() !== '' ? { mediaType: type.trim() } : {};
}

/** Reads base64 as servers write it: also in a data URL, with white space, in the URL alphabet, without padding. */
function base64(given: string): { data: string; mediaType?: string } | undefined {
  const head = /^\s*data:([^,;]{0,200})(?:;[^,;]{0,200}){0,5},/.exec(given.slice(0, 1_500));
  const raw = head === null ? given : given.slice(head[0].length);
  const plain = raw
    .replaceAll(/\s+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/={1,2}$/, '');
  if (plain === '' || plain.length % 4 === 1 || !/^[A-Za-z0-9+/]*$/.test(plain)) return undefined;
  const type = head?.[1]?.trim();
  return { data: plain.padEnd(Math.ceil(plain.length / 4) * 4, '='), ...(type ? { mediaType: type } : {}) };
}
