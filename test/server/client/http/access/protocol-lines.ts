import { approvalIdOf } from '../../../../../src/server/protocols/ai-sdk/turn-calls.ts';
import { type AccessLine, FORBIDDEN, NOTHING, REUSED, UNKNOWN, type Victim } from './access-line.ts';

const asking = { model: 'clerk', input: 'Q' };

/** The versions of the protocol, each with what its requests have in addition to their parameters. */
const GENERATIONS: [version: string, meta: object][] = [
  ['2025-06-18', {}],
  [
    '2026-07-28',
    {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  ],
];

function mcpLines([version, meta]: (typeof GENERATIONS)[number]): AccessLine[] {
  const rpc = (method: string, params: object, more: object = {}): object => ({
    jsonrpc: '2.0',
    ...(method.startsWith('notifications/') ? {} : { id: 1 }),
    method,
    params: { ...params, _meta: { ...meta, ...more } },
  });
  const headersOf = (method: string, name?: string): Record<string, string> => ({
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': name }),
  });
  return [
    {
      as: `tools/list of ${version}`,
      headers: headersOf('tools/list'),
      body: () => rpc('tools/list', {}),
      foreign: { status: 200, has: '"name":"clerk"' },
      agents: { status: 200, has: '"tools":[]' },
    },
    {
      as: `tools/call of ${version}`,
      headers: headersOf('tools/call', 'assistant'),
      body: () => rpc('tools/call', { name: 'assistant', arguments: { input: 'Q' } }),
      foreign: { status: 200, has: '"text":"ok"' },
      agents: { status: 200, has: 'Tool assistant not found' },
    },
    {
      as: `notifications/cancelled of ${version}`,
      headers: headersOf('notifications/cancelled'),
      body: ({ runId }) => rpc('notifications/cancelled', { requestId: 1 }, { 'longhaul/runId': runId }),
      foreign: { status: 202 },
      rightful: 'none',
    },
  ];
}

/** Returns the part of a message that says, on a page, that the call of the run is approved. */
function approvedPart({ runId, callId, digest }: Victim): object {
  const id = approvalIdOf({ runId, callId, digest, turn: 1, offset: 0 });
  return { type: 'tool-refund', toolCallId: callId, state: 'approval-responded', input: {}, approval: { id, approved: true } };
}

/** The requests to each route of the protocols that clients of others speak. */
export const PROTOCOL_LINES: Readonly<Record<string, readonly AccessLine[]>> = {
  'GET /v1/models': [{ foreign: NOTHING, agents: { status: 200, has: '"data":[]' } }],
  'GET /v1/models/{model}': [{ foreign: NOTHING, agents: { status: 404, code: 'model_not_found' } }],
  'GET /v1/responses/{runId}': [{}, { as: 'as a stream', query: () => '?stream=true' }],
  'POST /v1/responses': [
    {
      body: ({ runId }) => ({ ...asking, previous_response_id: runId }),
      foreign: { status: 404, code: 'previous_response_not_found' },
      agents: FORBIDDEN,
      rightful: { status: 409, code: 'response_in_progress' },
    },
    {
      as: 'as a stream',
      body: ({ runId }) => ({ ...asking, stream: true, previous_response_id: runId }),
      foreign: { status: 404, code: 'previous_response_not_found' },
      agents: FORBIDDEN,
      rightful: { status: 409, code: 'response_in_progress' },
    },
    {
      as: 'with its key',
      withKey: true,
      body: () => ({ model: 'assistant', input: 'Q' }),
      foreign: { status: 200, has: '"text":"ok"' },
      agents: FORBIDDEN,
      rightful: REUSED,
    },
  ],
  'POST /v1/chat/completions': [
    {
      as: 'with its key',
      withKey: true,
      body: () => ({ model: 'assistant', messages: [{ role: 'user', content: 'Q' }] }),
      foreign: { status: 200, has: '"content":"ok"' },
      agents: FORBIDDEN,
      rightful: REUSED,
    },
    {
      body: () => ({ model: 'assistant', messages: [{ role: 'user', content: 'Q' }] }),
      foreign: NOTHING,
      agents: FORBIDDEN,
    },
  ],
  'GET /v1/agents/{agent}/chat/{id}': [{ foreign: { status: 200, has: '"messages":[]' } }],
  'GET /v1/agents/{agent}/chat/{id}/stream': [{ foreign: { status: 204 } }],
  'POST /v1/agents/{agent}/chat/{id}/stop': [{ foreign: UNKNOWN }],
  'POST /v1/agents/{agent}/chat': [
    {
      body: ({ chatId }) => ({ id: chatId, messages: [{ id: 'm9', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] }),
      foreign: NOTHING,
      agents: FORBIDDEN,
    },
    {
      as: 'with an approval of its run',
      body: (victim) => ({ id: victim.chatId, messages: [{ id: 'a1', role: 'assistant', parts: [approvedPart(victim)] }] }),
      agents: FORBIDDEN,
      rightful: FORBIDDEN,
    },
  ],
  'POST /mcp': GENERATIONS.flatMap(mcpLines),
};
