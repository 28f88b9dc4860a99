import { defineAgent } from '../../../src/index.ts';
import { createHandler, type Handler } from '../../../src/server/index.ts';
import { clientWithRun } from '../requests.ts';
import type { RouteWithBody } from './generated-bodies.ts';

const clerk = defineAgent({ name: 'clerk', model: 'p/m' });

/** A service whose starts do nothing. */
export function quietHandler(methods: object = {}): Handler {
  const nothing = async (): Promise<object> => ({ runId: 'r' });
  const session = (): object => ({ open: nothing, status: nothing, send: nothing });
  const client = clientWithRun(methods, { start: nothing, startProgram: nothing, session });
  return createHandler(client, { agents: [clerk], limits: false, onError: () => undefined, tokenSecrets: ['s'.repeat(40)] });
}

/** Sends a body unchanged. */
export function post(handler: Handler, { method, path }: Pick<RouteWithBody, 'method' | 'path'>, body: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return handler(new Request(`http://localhost${path}`, { method, body, headers }));
}
