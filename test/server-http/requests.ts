import type { LonghaulClient } from '../../src/client/index.ts';
import type { Handler, Problem } from '../../src/server/index.ts';

/** A request with a JSON body. */
export interface JsonRequest {
  body?: unknown;
  headers?: Record<string, string>;
}

/** Sends a request with a JSON body, if it has one. */
export async function send(handler: Handler, method: string, path: string, { body, headers = {} }: JsonRequest = {}): Promise<Response> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  return handler(
    new Request(`http://localhost${path}`, { method, ...content, headers: { 'content-type': 'application/json', ...headers } }),
  );
}

/** Sends a request, and returns the status and the body of the response. */
export async function answer<Body = Problem>(
  handler: Handler,
  method: string,
  path: string,
  request: JsonRequest = {},
): Promise<{ status: number; body: Body; headers: Headers }> {
  const response = await send(handler, method, path, request);
  return { status: response.status, body: (await response.json()) as Body, headers: response.headers };
}

/** A client with only these methods of a run. */
export function clientWithRun(methods: object, others: object = {}): LonghaulClient {
  const client: object = {
    handle: (runId: string) => ({ runId, ...methods }),
    as: () => client,
    temporal: { options: { namespace: 'default' } },
    ...others,
  };
  return client as LonghaulClient;
}
