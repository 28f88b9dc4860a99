import { z } from 'zod';
import {
  type ContentItem,
  type ContentPart,
  type MediaSource,
  needsResponse,
  type ToolCall,
  type ToolResult,
} from '../../../core/domain/content.ts';
import {
  canonicalJson,
  defined,
  isJsonObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  MAX_JSON_DEPTH,
  parsedJson,
} from '../../../core/domain/json.ts';
import { didYouMean } from '../../../core/domain/text.ts';
import type { AnyAgent } from '../../../define/agent-definition.ts';
import { bodyProblems } from '../../problems.ts';
import { MISSING } from '../../schemas/expecting.ts';
import { readValue } from '../../schemas/read-value.ts';
import { list, members, MOST } from '../../schemas/values.ts';
import { invalidValue, OpenaiRefusal, unsupported } from './errors.ts';

/** The parameters of a route. `null` counts as absent everywhere. */
export interface ParameterTable {
  /** Read by the service. */
  own: readonly string[];
  /** Accepted without effect, such as hints for caches. */
  withoutEffect: readonly string[];
  /** Not supported: each may only have one of these values, which match what happens anyway. Without values, it is always refused. */
  others: Readonly<Record<string, readonly JsonValue[]>>;
}

/** Returns the parameters that the service reads. Throws for unsupported parameters, and for ones that the protocol does not have. */
export function supportedParameters(body: unknown, { own, withoutEffect, others }: ParameterTable): JsonObject {
  if (!isJsonObject(body)) throw new OpenaiRefusal('invalid_request', 'The request has no body: send a JSON object', {});
  const known = [...own, ...withoutEffect, ...Object.keys(others)];
  const given = Object.entries(body).filter(([, value]) => value !== null);
  for (const [name, value] of given) {
    if (own.includes(name) || withoutEffect.includes(name)) continue;
    const usual = Object.hasOwn(others, name) ? others[name] : undefined;
    if (usual === undefined) {
      throw new OpenaiRefusal('invalid_request', `Unknown parameter: "${name}"${didYouMean(name, known)}`, {
        param: name,
        code: 'unknown_parameter',
      });
    }
    if (usual.some((one) => canonicalJson(one) === canonicalJson(value))) continue;
    throw unsupported(
      name,
      usual.length === 0 ? 'leave it out' : `leave it out, or give ${usual.map((one) => JSON.stringify(one)).join(' or ')}`,
    );
  }
  return Object.fromEntries(given.filter(([name]) => own.includes(name)));
}

/** Returns a value as parsed by a schema. Throws an error that names the first invalid parameter. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const read = readValue(schema, value);
  if (read.ok) return read.value;
  throw new OpenaiRefusal(
    'invalid_request',
    'The request does not fit',
    { code: read.problems[0]?.detail === MISSING ? 'missing_required_parameter' : 'invalid_value' },
    { errors: bodyProblems(read.problems) },
  );
}

/** Data of the caller that is stored with the run. */
export const metadata = members(z.string().max(512))
  .refine((value) => Object.keys(value).length <= 16, 'write at most 16 keys')
  .refine((value) => Object.keys(value).every((key) => key.length <= 64), 'write keys of at most 64 characters');

/** Parameters without effect: hints for caches, and names of users, which come from the credentials. */
export const NO_EFFECT = ['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'] as const;

/** The requested format of an answer. */
export interface AnswerFormat {
  type: 'text' | 'json_object' | 'json_schema';
  schema?: JsonObject | undefined;
}

/**
 * Throws unless the agent answers in this format. The agent defines the schema of its output: a request can only show that it knows
 * the schema, by the same names at the top level. `param`: the name of the parameter.
 */
export function requireFormat(agent: AnyAgent | string, { type, schema }: AnswerFormat, param: string): void {
  if (type === 'text') return;
  const output = typeof agent === 'string' ? undefined : agent.output;
  if (output === undefined) throw unsupported(param, 'the agent answers with text. Give the agent an output schema, or leave it out');
  if (type === 'json_object') return;
  const [asked, own] = [namesOf(schema), namesOf(output.schema)];
  if (asked.length === own.length && asked.every((name) => own.includes(name))) return;
  throw unsupported(param, `the output of the agent has ${own.map((name) => `"${name}"`).join(', ')}. Ask for its own schema`);
}

function namesOf(schema: JsonObject | undefined): string[] {
  const { properties } = schema ?? {};
  return isJsonObject(properties) ? Object.keys(properties) : [];
}

/** The conversation that a run begins with, in the form that a start takes. */
export interface Conversation {
  messages?: ContentItem[];
  input?: string | ContentPart[];
}

/**
 * Divides a conversation: its last item is the input if it is a user's message. `param` names the conversation in errors. Throws
 * if there is nothing that the model could respond to.
 */
export function conversationOf(items: readonly ContentItem[], param: string): Conversation {
  if (items.length === 0) throw invalidValue(param, 'it has no content: write what the user says');
  if (!needsResponse(items)) throw invalidValue(param, 'it ends with an answer of the assistant: add what the user says next');
  const last = items.at(-1);
  if (last?.type !== 'message' || last.role !== 'user') return { messages: [...items] };
  const before = items.slice(0, -1);
  return { ...(before.length === 0 ? {} : { messages: before }), input: last.content };
}

const textPart = z.object({ type: z.enum(['text', 'input_text', 'output_text']), text: z.string() });

const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

const fileSource = z.object({ file_data: z.string().nullish(), file_id: z.string().nullish(), filename: z.string().nullish() });

/** A part of a message, in the form of Chat Completions and Responses. */
export const messagePart = z.discriminatedUnion('type', [
  textPart,
  refusalPart,
  z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) }),
  z.object({ type: z.literal('input_image'), image_url: z.string().nullish(), file_id: z.string().nullish() }),
  z.object({ type: z.literal('input_audio'), input_audio: z.object({ data: z.string(), format: z.string() }) }),
  z.object({ type: z.literal('file'), file: fileSource }),
  fileSource.extend({ type: z.literal('input_file'), file_url: z.string().nullish() }),
]);

/** The content of a message: text, or parts. */
export const messageContent = z.union([z.string(), list(messagePart, { min: 1, max: MOST.parts })]);

type MessageContent = z.output<typeof messageContent>;

/** Returns content in the form of a run: a text if it has only text. `param` names it in errors. */
export function messageContentOf(content: MessageContent, param: string): string | ContentPart[] {
  if (typeof content === 'string') return content;
  const parts = content.map((part, index) => contentPartOf(part, `${param}[${index}]`));
  return parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('\n') : parts;
}

/** Returns the text of content that may have only text. `param` names it in errors. */
export function plainTextOf(content: MessageContent, param: string): string {
  const read = messageContentOf(content, param);
  if (typeof read === 'string') return read;
  throw unsupported(param, 'only the messages of the user may have media');
}

function contentPartOf(part: z.output<typeof messagePart>, param: string): ContentPart {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'image_url':
      return { type: 'image', ...mediaSourceOf(part.image_url.url, `${param}.image_url.url`) };
    case 'input_image':
      if (part.image_url == null) throw unsupported(`${param}.file_id`, 'the service keeps no files. Give "image_url"');
      return { type: 'image', ...mediaSourceOf(part.image_url, `${param}.image_url`) };
    case 'input_audio':
      return { type: 'audio', data: part.input_audio.data, format: part.input_audio.format };
    case 'file':
      return filePart(part.file, `${param}.file`);
    case 'input_file':
      return filePart(part, param);
  }
}

interface GivenFile {
  file_data?: string | null | undefined;
  file_url?: string | null | undefined;
  filename?: string | null | undefined;
}

function filePart({ file_data: data, file_url: url, filename }: GivenFile, param: string): ContentPart {
  const given = data ?? url;
  if (given == null) throw unsupported(`${param}.file_id`, 'the service keeps no files. Give "file_data"');
  const isPlain = data != null && !data.startsWith('data:');
  const source = isPlain ? { data } : mediaSourceOf(given, `${param}.${data == null ? 'file_url' : 'file_data'}`);
  return { type: 'file', ...source, ...(filename == null ? {} : { name: filename }) };
}

const DATA_URL = /^data:([^;,]+)?(?:;[^;,]+)*;base64,(.*)$/s;

/** Returns the source of media from its URL, which may hold the data itself. `param` names the URL in errors. */
function mediaSourceOf(url: string, param: string): MediaSource {
  const [, mediaType, data] = DATA_URL.exec(url) ?? [];
  if (data === undefined && !URL.canParse(url)) throw invalidValue(param, 'expected a URL');
  if (data === undefined) return { url };
  return { data, ...defined({ mediaType }) };
}

/** Returns a call of an earlier conversation. */
export function toolCall(id: string, name: string, text: string, param: string): ToolCall {
  return { type: 'tool_call', toolCallId: id, name, arguments: argumentsOf(text, param) };
}

/** Returns the result of a call of an earlier conversation. */
export function toolResult(
  call: Pick<ToolCall, 'toolCallId' | 'name'>,
  content: string,
  status: ToolResult['status'] = 'success',
): ToolResult {
  return { type: 'tool_result', toolCallId: call.toolCallId, name: call.name, status, content: [content] };
}

function argumentsOf(text: string, param: string): JsonObject {
  const value = parsedJson(text === '' ? '{}' : text);
  if (!isJsonObject(value)) throw invalidValue(param, 'expected a JSON object as text');
  if (isTooDeep(value)) throw invalidValue(param, `nested deeper than ${MAX_JSON_DEPTH} levels`);
  return value;
}
