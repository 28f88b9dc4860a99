import { expect } from 'vitest';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json.ts';
import type { LonghaulClient } from '../../src/client/index.ts';
import { createHandler, type Handler, type HandlerOptions } from '../../src/server/index.ts';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: JsonObject }> }>;
}

/** The OpenAPI document of the service. */
export interface OpenapiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonObject> };
}

const PROBLEM = { $ref: '#/components/schemas/Problem' };
const CHAT_CHUNK = '#/components/schemas/UiMessageChunk';

/** Returns the document that a handler describes itself by. */
export async function documentOf(handler: Handler, prefix = ''): Promise<OpenapiDocument> {
  return (await (await handler(new Request(`http://localhost${prefix}/v1/openapi.json`))).json()) as OpenapiDocument;
}

/**
 * A handler whose every response fits its document: the status, the type and the body, without any member that the document does not name.
 * The messages of server-sent events are checked as they are read: a stream with an invalid one breaks off, with the problems.
 */
export async function checkedHandler(client: LonghaulClient, options: HandlerOptions = {}): Promise<Handler> {
  const handler = createHandler(client, options);
  const document = await documentOf(handler, options.prefix);
  return async (request, environment) => {
    const { method, url } = request;
    const response = await handler(request, environment);
    return checkedResponse(document, { method, path: new URL(url).pathname.slice((options.prefix ?? '').length) }, response);
  };
}

async function checkedResponse(
  document: OpenapiDocument,
  { method, path }: { method: string; path: string },
  response: Response,
): Promise<Response> {
  const operation = operationOf(document, method, path);
  const type = typeOf(response);
  if (operation === undefined) {
    expect(type).toBe('application/problem+json');
    expectFits(document, PROBLEM, JSON.parse(await response.clone().text()) as JsonValue);
    return response;
  }
  const declared = operation.responses[response.status];
  const content = declared?.content?.[type];
  if (type === 'text/event-stream' && content !== undefined) return checkedStream(document, itemSchema(content.schema), response);
  const text = await response.clone().text();
  if (declared !== undefined && declared.content === undefined && text === '') return response;
  // The bytes of a file have no schema.
  if (declared?.content?.['*/*'] !== undefined) return response;
  if (content === undefined) throw new Error(`${method} ${path} declares no ${response.status} of type "${type}": ${text}`);
  const values = type.includes('ndjson') ? text.trim().split('\n') : [text];
  for (const value of values) expectFits(document, content.schema, JSON.parse(value) as JsonValue);
  return response;
}

/** Returns the schema of the items of a stream, from the schema of its events: the data of an event is the text of an item. */
function itemSchema(event: JsonObject): JsonObject {
  const { data } = event['properties'] as { data: JsonObject };
  const texts = (data['anyOf'] ?? [data]) as { contentSchema?: JsonObject }[];
  const { contentSchema: schema } = texts.find((one) => one.contentSchema !== undefined) ?? {};
  if (schema === undefined) throw new Error('the events of the stream have no item as data');
  return schema;
}

/** Returns the type of a body, without the set of characters. */
function typeOf({ headers }: Response): string {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return type;
}

/** Returns a response of server-sent events whose reader gets them once they are checked. */
function checkedStream(document: OpenapiDocument, schema: JsonObject, response: Response): Response {
  const decoder = new TextDecoder();
  let rest = '';
  const check = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      const messages = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
      rest = messages.pop() ?? '';
      for (const message of messages) expectMessageFits(document, schema, message);
      controller.enqueue(bytes);
    },
    flush: () => expect(rest).toBe(''),
  });
  return new Response(response.body?.pipeThrough(check) ?? null, response);
}

/** A message of a stream has an item as data, its type as event and its cursor as id; one of a chat has data alone. */
function expectMessageFits(document: OpenapiDocument, schema: JsonObject, message: string): void {
  const { data, event, id } = fieldsOf(message);
  const isOfChat = schema['$ref'] === CHAT_CHUNK;
  if (data === undefined || (isOfChat && data === '[DONE]')) return;
  const value = JSON.parse(data) as JsonValue;
  if (event === 'problem') return expectFits(document, PROBLEM, value);
  expectFits(document, schema, value);
  if (isOfChat) return;
  expect({ data, event, id }).toEqual({ data, event: (value as JsonObject)['type'], id: expect.stringMatching(/./) as string });
}

/** Returns the fields of a message of server-sent events; none for a comment. */
function fieldsOf(message: string): { data?: string; event?: string; id?: string } {
  const fields: Record<string, string> = {};
  for (const line of message.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name !== '') fields[name] = name in fields ? `${fields[name]}\n${value}` : value;
  }
  return fields;
}

function operationOf({ paths }: OpenapiDocument, method: string, path: string): Operation | undefined {
  const found = Object.entries(paths).find(([template]) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path));
  return found?.[1][method.toLowerCase()];
}

function expectFits({ components }: OpenapiDocument, schema: JsonObject, value: JsonValue): void {
  const whole = { ...schema, $defs: components.schemas };
  expect({ value, problems: checkJson(closed(whole) as JsonObject, value) }).toEqual({ value, problems: [] });
}

/** Returns a schema whose objects have no other members than those that it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).map(([key, value]) => [
    key,
    key === '$ref' && typeof value === 'string' ? value.replace('#/components/schemas/', '#/$defs/') : closed(value),
  ]);
  const isOpen = 'type' in schema && schema.type === 'object' && !('additionalProperties' in schema) && 'properties' in schema;
  return { ...Object.fromEntries(members), ...(isOpen ? { additionalProperties: false } : {}) };
}
