import { expect } from 'vitest';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
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

/** Returns the document that a handler describes itself by. */
export async function documentOf(handler: Handler, prefix = ''): Promise<OpenapiDocument> {
  return (await (await handler(new Request(`http://localhost${prefix}/v1/openapi.json`))).json()) as OpenapiDocument;
}

/** A handler whose every response fits its document: the status, the type and the body, without any member that the document does not name. */
export async function checkedHandler(client: LonghaulClient, options: HandlerOptions = {}): Promise<Handler> {
  const handler = createHandler(client, options);
  const document = await documentOf(handler, options.prefix);
  return async (request) => {
    const { method, url } = request;
    const response = await handler(request);
    await checkResponse(document, { method, path: new URL(url).pathname.slice((options.prefix ?? '').length) }, response.clone());
    return response;
  };
}

async function checkResponse(
  document: OpenapiDocument,
  { method, path }: { method: string; path: string },
  response: Response,
): Promise<void> {
  const operation = operationOf(document, method, path);
  const type = response.headers.get('content-type') ?? '';
  const text = await response.text();
  if (operation === undefined) {
    expect(type).toBe('application/problem+json');
    return expectFits(document, { $ref: '#/components/schemas/Problem' }, JSON.parse(text) as JsonValue);
  }
  const declared = operation.responses[response.status];
  const content = declared?.content?.[type];
  if (content === undefined) throw new Error(`${method} ${path} declares no ${response.status} of type "${type}": ${text}`);
  const values = type.includes('ndjson') ? text.trim().split('\n') : [text];
  for (const value of values) expectFits(document, content.schema, JSON.parse(value) as JsonValue);
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
