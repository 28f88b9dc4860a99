import { createInterface } from 'node:readline';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import { Ledger } from '../processes/ledger.ts';
import { effectOf } from './reference-script.ts';

/**
 * An MCP server with one tool, over standard input and output, with only the necessary parts of the protocol. It records its
 * effect in the ledger, by the idempotency key of the call. It dies with the worker that started it.
 */

const ledger = new Ledger(process.argv[2] ?? '');

interface Request {
  id?: number | string;
  method?: string;
  params?: JsonObject & { protocolVersion?: string; arguments?: { order?: string }; _meta?: { 'longhaul/idempotencyKey'?: string } };
}

const WEIGH = {
  name: 'weigh',
  description: 'Weighs what is in an order',
  inputSchema: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'], additionalProperties: false },
  annotations: { idempotentHint: true },
};

function answer({ method, params = {} }: Request): object | undefined {
  switch (method) {
    case 'initialize':
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'scales', version: '1.0.0' } };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: [WEIGH] };
    case 'tools/call':
      return weigh(params);
    default:
      return undefined;
  }
}

function weigh({ arguments: { order = '' } = {}, _meta }: NonNullable<Request['params']>): object {
  const key = _meta?.['longhaul/idempotencyKey'] ?? '';
  // The key begins with the id of the run.
  ledger.act({ runId: key.split('/')[0] ?? '', effect: effectOf(WEIGH.name, order), key });
  return { content: [{ type: 'text', text: 'weigh: done' }] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request;
  if (request.id === undefined) continue;
  const result = answer(request);
  const error = { code: -32_601, message: `There is no method ${request.method ?? ''}` };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: request.id, ...(result === undefined ? { error } : { result }) })}\n`);
}
