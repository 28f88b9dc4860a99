import { expect, test } from 'vitest';
import { createHandler } from '../../src/server/index.ts';
import { documentOf, type OpenapiDocument } from './checked-handler.ts';
import { clientWithRun } from './requests.ts';

const document: OpenapiDocument = await documentOf(createHandler(clientWithRun({})));

/** All values of the key, at any depth. */
function valuesOf(key: string, value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => (name === key ? [member] : valuesOf(key, member)));
}

test('every reference of the document leads to a schema, and every schema is referred to', () => {
  const names = Object.keys(document.components.schemas);
  const referred = new Set(valuesOf('$ref', document).map((one) => String(one).replace('#/components/schemas/', '')));
  expect([...referred].filter((name) => !names.includes(name))).toEqual([]);
  expect(names.filter((name) => !referred.has(name))).toEqual([]);
});

test('operations have unique ids, and say which scope they need', () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path)) as object[];
  const ids = operations.map((operation) => ('operationId' in operation ? operation.operationId : undefined));
  expect(new Set(ids).size).toBe(operations.length);
  const secured = operations.filter(
    (operation) => !('security' in operation && Array.isArray(operation.security) && operation.security.length === 0),
  );
  const described = secured.filter((operation) => 'description' in operation && /Needs the scope `/.test(String(operation.description)));
  expect(described).toHaveLength(secured.length);
  // The state of the process, the document, and the log-in.
  expect(operations.length - secured.length).toBe(5);
});

test('the document has every route below the prefix', async () => {
  const handler = createHandler(clientWithRun({}), { prefix: '/api' });
  const { paths } = await documentOf(handler, '/api');
  expect(Object.keys(paths)).toEqual(Object.keys(document.paths));
  const whole = (await (await handler(new Request('http://localhost/api/v1/openapi.json'))).json()) as { servers: object[] };
  expect(whole.servers).toEqual([{ url: '/api' }]);
});

test('every refusal that says when to come back names the header for it, and streams and files take a token in their query', async () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path)) as object[] as {
    operationId: string;
    security?: object[];
    responses: Record<string, { headers?: object; content?: object }>;
  }[];
  for (const { operationId, responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const isRefusal = 'application/problem+json' in (response.content ?? {});
      const comesBack = isRefusal && (status === '429' || status === '503');
      expect([operationId, status, 'Retry-After' in (response.headers ?? {})]).toEqual([operationId, status, comesBack]);
    }
  }
  const tokens = operations.filter(({ security = [] }) => security.some((one) => 'runToken' in one));
  expect(tokens.map(({ operationId }) => operationId).toSorted()).toEqual(['getFile', 'streamRun', 'streamSession']);
});

test('streams are described as sent on the wire: events, whose data is the text of an item', () => {
  const streams = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.values(operations).flatMap(({ responses }) => {
      const schema = responses['200']?.content?.['text/event-stream']?.schema;
      return schema === undefined ? [] : [[path, schema] as const];
    }),
  );
  expect(streams.map(([path]) => path)).toEqual([
    '/v1/feed',
    '/v1/runs/{runId}/stream',
    '/v1/sessions/{sessionId}/stream',
    '/v1/agents/{agent}/chat',
    '/v1/agents/{agent}/chat/{id}/stream',
  ]);
  for (const [path, { type, properties }] of streams) {
    expect([path, type, Object.keys(properties as object)]).toEqual([path, 'object', ['id', 'event', 'data', 'retry']]);
    const items = valuesOf('contentSchema', properties).flatMap((schema) => valuesOf('$ref', schema));
    const expected = path.includes('/chat') ? ['UiMessageChunk'] : [path === '/v1/feed' ? 'FeedItem' : 'StreamItem', 'Problem'];
    expect(items).toEqual(expected.map((name) => `#/components/schemas/${name}`));
  }
});

test('names, ids and durations have the patterns that they are checked by', () => {
  const { StartRun: start, Duration: duration } = document.components.schemas as Record<
    string,
    { properties?: Record<string, { pattern: string }> }
  >;
  for (const name of ['agent', 'runId', 'previousRunId']) {
    const pattern = new RegExp(start?.properties?.[name]?.pattern ?? 'none');
    expect([pattern.test('clerk 1'), pattern.test('a\0b'), pattern.test('')]).toEqual([true, false, false]);
  }
  const [pattern] = valuesOf('pattern', duration).map((text) => new RegExp(String(text)));
  for (const text of ['1ms', '500ms', '30s', '1.5h', '2d', '0.5s', '10m']) expect([text, pattern?.test(text)]).toEqual([text, true]);
  for (const text of ['0ms', '0s', '0.0s', '1', 's', '-1s', '1w', '99999999999s', '0.5ms', '1e3s', ' 1s', '1.s'])
    expect([text, pattern?.test(text)]).toEqual([text, false]);
});
