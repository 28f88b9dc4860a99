import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { ContentPart } from '../../src/core/domain/content/content.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { cleanJson } from '../../src/model/clean-json.ts';

/** A result of a server as the content of a tool result. */
export interface McpContent {
  content: JsonValue[];
  isError: boolean;
}

/** The error for a result that cannot be used. */
class MalformedResult extends Error {}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Converts the answer of a server to a tool result: the readable part first and in one value, because a model reads
 * that one, and media after it. A text that only repeats the structured content is not kept twice. The result is not
 * trusted: invalid content becomes an error result.
 */
export function resultContent(result: CallToolResult): McpContent {
  try {
    const blocks = result.content.map(contentPart);
    const texts = blocks.flatMap((block) => (typeof block === 'string' ? [block] : []));
    const media = blocks.filter((block) => typeof block !== 'string');
    const readableParts = readable(texts, structured(result.structuredContent));
    return { content: [...readableParts, ...media.map(plain)], isError: result.isError === true };
  } catch (error) {
    if (!(error instanceof MalformedResult)) throw error;
    return { content: [`The result of the server is malformed: ${error.message}. What the tool did is done`], isError: true };
  }
}

/** Returns texts and structured content as at most one value. */
function readable(texts: string[], value: JsonValue | undefined): JsonValue[] {
  const text = texts.join('\n').toWellFormed();
  if (value === undefined) return texts.length === 0 ? [] : [text];
  if (texts.every((one) => saysTheSame(one, value))) return [isMediaLike(value) ? { structuredContent: value } : value];
  return onlyText(value) === text ? [text] : [{ text, structuredContent: value }];
}

/** True for a value that would be mistaken for a media part, whose URL the model's provider fetches. */
function isMediaLike(value: JsonValue): boolean {
  return isJsonObject(value) && 'type' in value && ('url' in value || 'data' in value);
}

/** True if the text is the value as JSON. */
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

function structured(value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  const clean = cleanJson(value);
  if (clean === undefined) throw new MalformedResult('its structured content is not JSON, or nested too deep');
  return clean;
}

/** Converts a block to text, or to a part that is not text. */
function contentPart(block: ContentBlock): string | ContentPart {
  switch (block.type) {
    case 'text':
      return required('text', block.text);
    case 'image':
    case 'audio':
      return { type: block.type, data: base64(block.type, block.data), ...mediaType(block.mimeType) };
    case 'resource_link':
      return linkText(block);
    case 'resource':
      return resourcePart(block.resource);
    default:
      throw new MalformedResult('a part of it is of a type that this protocol does not have');
  }
}

/** Converts a link to text: it is meant for the tools of the server, and the model's provider might follow it. */
function linkText({ name, title, uri, mimeType, description }: ContentBlock & { type: 'resource_link' }): string {
  const about = [mimeType, description].filter((one) => one !== undefined && one !== '').join(': ');
  return `[Resource "${title ?? name}" at ${required('uri', uri)}${about === '' ? '' : ` (${about})`}]`;
}

function resourcePart(resource: (ContentBlock & { type: 'resource' })['resource']): string | ContentPart {
  const uri = required('uri', resource.uri);
  if ('text' in resource) return `[Resource ${uri}]\n${required('text', resource.text)}`;
  const type = mediaKind(resource.mimeType);
  const source = { data: base64('resource', resource.blob), ...mediaType(resource.mimeType) };
  return type === 'file' ? { type, name: uri.split('/').at(-1) || uri, ...source } : { type, ...source };
}

function mediaKind(type: string | undefined): 'image' | 'audio' | 'file' {
  const kind = type?.split('/')[0];
  return kind === 'image' || kind === 'audio' ? kind : 'file';
}

function mediaType(type: string | undefined): { mediaType?: string } {
  return type === undefined ? {} : { mediaType: type.toWellFormed() };
}

function required(field: string, value: unknown): string {
  if (typeof value === 'string') return value.toWellFormed();
  throw new MalformedResult(`a part of it lacks "${field}"`);
}

function base64(what: string, data: unknown): string {
  if (typeof data === 'string' && data.length % 4 === 0 && BASE64.test(data)) return data;
  throw new MalformedResult(`its ${what} is not base64`);
}

function plain(part: ContentPart): JsonValue {
  return { ...part };
}
