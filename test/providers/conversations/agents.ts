import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { isJsonObject } from '../../../src/core/domain/json.ts';
import { agentTool, mcpServer } from '../../../src/index.ts';
import { call, say } from '../answer.ts';
import type { AgentChanges, Conversation, Ran, Stage } from '../conversation.ts';
import type { Family } from '../families/family.ts';

/** A tool of an MCP server, as the server describes it. */
interface ListedTool {
  name: string;
  inputSchema: unknown;
}

/** A server of the Model Context Protocol over streamable HTTP. Returns its URL, and what closes it. */
async function startMcp(
  tools: readonly ListedTool[],
  called: (name: string, args: object) => string,
): Promise<{ url: string; close: () => void }> {
  const serve = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    let text = '';
    for await (const piece of request) text += String(piece);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message: unknown = JSON.parse(text);
    if (!isJsonObject(message) || message['id'] === undefined) return void response.writeHead(202).end();
    const result = answer(message, tools, called);
    const error = { code: -32_601, message: 'Method not found' };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message['id'], ...(result === undefined ? { error } : { result }) }));
  };
  const server = http.createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/mcp`, close };
}

function answer(
  { method, params }: Record<string, unknown>,
  tools: readonly ListedTool[],
  called: (name: string, args: object) => string,
): object | undefined {
  switch (method) {
    case 'initialize':
      return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'desk', version: '1' } };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: tools.map((tool) => ({ ...tool, description: 'A tool of a server' })) };
    case 'tools/call': {
      const { name, arguments: args } = isJsonObject(params) ? params : {};
      return { content: [{ type: 'text', text: called(typeof name === 'string' ? name : '', isJsonObject(args) ? args : {}) }] };
    }
    default:
      return undefined;
  }
}

const ANSWER = 'Order 42 is on its way.';
const LOOK_UP: [string, object] = ['look_up', { order: 42 }];
const SKILLS = fileURLToPath(new URL('../fixtures/skills', import.meta.url));
const OUTPUT = z.object({ status: z.string() });
const GIVEN = { status: 'on its way' };

/** A structured answer in the form that is requested from the family. */
function structured({ options }: Family): ReturnType<typeof say> {
  return options?.capabilities?.structuredOutput === false ? call(['final_answer', { output: GIVEN }]) : say(JSON.stringify(GIVEN));
}

/** A tool of an MCP server with a schema that providers do not accept unchanged. */
function mcpTool(kind: string, inputSchema: unknown, args: object, name = 'find'): Conversation {
  return {
    name: `a tool of an MCP server ${kind}`,
    agent: async (stage): Promise<AgentChanges> => {
      const { url, close } = await startMcp([{ name, inputSchema }], (called, given) => {
        stage.ran.push([called, given]);
        return 'found';
      });
      stage.cleanUps.push(close);
      return { tools: [], mcp: [mcpServer({ name: 'desk', url })] };
    },
    script: [(request) => call([request.tools[0]?.name ?? 'none', args]), say(ANSWER)],
    expect: { ran: [[name, args]] satisfies Ran[] },
  };
}

const billing = (stage: Stage, changes: AgentChanges = {}): ReturnType<Stage['agent']> =>
  stage.agent({ name: 'billing', instructions: 'You answer questions about invoices.', description: 'Invoices', ...changes });

/** Agents that are more than one instruction with tools. */
export const AGENTS: readonly Conversation[] = [
  {
    name: 'two instructions',
    agent: { instructions: ['You are a clerk.', 'Be short.'] },
    script: [call(LOOK_UP), say(ANSWER)],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'two instructions and skills',
    agent: { instructions: ['You are a clerk.', 'Be short.'], skills: [SKILLS] },
    script: [call(LOOK_UP), say(ANSWER)],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'a skill that is loaded',
    agent: { skills: [SKILLS] },
    script: [call(['load_skill', { name: 'refunds' }]), call(LOOK_UP), say(ANSWER)],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'replies in JSON, without the tools of the provider',
    agent: { replyFormat: 'json' },
    script: [say('{"tool": "look_up", "arguments": {"order": 42}}'), say(`{"answer": "${ANSWER}"}`)],
    expect: { ran: [LOOK_UP], output: ANSWER },
  },
  {
    name: 'a structured answer',
    agent: { output: OUTPUT },
    script: (family) => [call(LOOK_UP), structured(family)],
    expect: { ran: [LOOK_UP], output: GIVEN },
  },
  {
    name: 'a structured answer that does not fit at first',
    agent: { output: OUTPUT },
    script: (family) => [
      family.options?.capabilities?.structuredOutput === false ? call(['final_answer', { output: { state: 1 } }]) : say('{"state": 1}'),
      structured(family),
    ],
    expect: { output: GIVEN },
  },
  {
    name: 'a structured answer behind thoughts and in a fence',
    agent: { output: OUTPUT },
    script: (family) => [
      family.options?.capabilities?.structuredOutput === false
        ? structured(family)
        : say('<think>Order {42}?</think>\nHere it is:\n```json\n{"status": "on its way"}\n```'),
    ],
    expect: { output: GIVEN },
  },
  {
    name: 'a structured answer by final_answer',
    agent: { output: OUTPUT, outputMode: 'final_answer' },
    script: [call(LOOK_UP), call(['final_answer', { output: GIVEN }])],
    expect: { ran: [LOOK_UP], output: GIVEN },
  },
  {
    name: 'final_answer as a text',
    agent: { output: OUTPUT, outputMode: 'final_answer' },
    script: [call(LOOK_UP), say('The status is:\n{"status": "on its way"}'), call(['final_answer', { output: GIVEN }])],
    expect: { ran: [LOOK_UP], output: GIVEN, usedUp: false },
  },
  {
    name: 'prose in place of final_answer',
    agent: { output: OUTPUT, outputMode: 'final_answer' },
    script: [say('It is on its way.'), call(['final_answer', { output: GIVEN }])],
    expect: { output: GIVEN },
  },
  {
    name: 'a tool that is required',
    agent: { settings: { toolChoice: 'required' } },
    script: [call(LOOK_UP), say(ANSWER)],
    expect: { ran: [LOOK_UP], orTruthfulError: true },
  },
  {
    name: 'a tool that is required by name',
    agent: { settings: { toolChoice: { tool: 'look_up' } } },
    script: [call(LOOK_UP), say(ANSWER)],
    expect: { ran: [LOOK_UP], orTruthfulError: true },
  },
  {
    name: 'the last attempt behind the limit of steps',
    agent: { limits: { steps: 1 }, finalAttempt: true },
    script: [call(LOOK_UP), say('It is probably on its way.')],
    expect: {
      status: 'max_iterations_reached',
      ran: [LOOK_UP],
      check: ({ result }) => (result.output === 'It is probably on its way.' ? undefined : `output ${JSON.stringify(result.output)}`),
    },
  },
  {
    name: 'an agent without tools',
    agent: { tools: [] },
    script: [say(ANSWER)],
    expect: {},
  },
  {
    name: 'a handoff',
    agent: (stage) => ({ handoffs: [billing(stage)] }),
    script: [
      call(LOOK_UP),
      call(['transfer_to_agent', { agent: 'billing', reason: 'an invoice' }]),
      call(['look_up', { order: 43 }]),
      say('The invoice is paid.'),
    ],
    expect: { ran: [LOOK_UP, ['look_up', { order: 43 }]] },
  },
  {
    name: 'a handoff to an agent without tools',
    agent: (stage) => ({ handoffs: [billing(stage, { tools: [] })] }),
    script: [call(LOOK_UP), call(['transfer_to_agent', { agent: 'billing', reason: 'an invoice' }]), say('The invoice is paid.')],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'a handoff to an agent with another model',
    agent: (stage) => ({ handoffs: [billing(stage, { model: `openai/${stage.family.otherModel}` })] }),
    script: [
      call(LOOK_UP),
      call(['transfer_to_agent', { agent: 'billing', reason: 'an invoice' }]),
      call(['look_up', { order: 43 }]),
      say('The invoice is paid.'),
    ],
    expect: { models: 2, ran: [LOOK_UP, ['look_up', { order: 43 }]] },
  },
  {
    name: 'an agent as a tool',
    agent: (stage) => ({ tools: [agentTool(billing(stage), { description: 'Asks about invoices' })] }),
    script: [call(['billing', { request: 'Is order 42 paid?' }]), call(LOOK_UP), say('It is paid.'), say('Your order is paid.')],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'an agent as a tool that answers twice and remembers',
    agent: (stage) => ({ tools: [agentTool(billing(stage), { kept: true })] }),
    script: [
      call(['billing', { request: 'Is order 42 paid?' }]),
      call(LOOK_UP),
      say('It is paid.'),
      call(['billing', { request: 'And order 43?' }]),
      call(['look_up', { order: 43 }]),
      say('Order 43 is not.'),
      say('One of them is paid.'),
    ],
    expect: { ran: [LOOK_UP, ['look_up', { order: 43 }]] },
  },
  mcpTool('without properties', { type: 'object' }, {}),
  mcpTool('that takes nothing else', { type: 'object', additionalProperties: false }, {}),
  mcpTool(
    'with a choice at the root',
    {
      type: 'object',
      properties: { id: { type: 'string' }, name: { type: 'string' } },
      anyOf: [{ required: ['id'] }, { required: ['name'] }],
    },
    { id: '42' },
  ),
  mcpTool(
    'with a choice of objects at the root',
    {
      type: 'object',
      oneOf: [
        { properties: { id: { type: 'string' } }, required: ['id'] },
        { properties: { name: { type: 'string' } }, required: ['name'] },
      ],
    },
    { id: '42' },
  ),
  mcpTool('with a list of anything', { type: 'object', properties: { ids: { type: 'array' } }, required: ['ids'] }, { ids: [1, 'two'] }),
  mcpTool(
    'with references',
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { place: { $ref: '#/definitions/Place' }, places: { type: 'array', items: { $ref: '#/definitions/Place' } } },
      required: ['place'],
      definitions: { Place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
    },
    { place: { city: 'Oslo' } },
  ),
  mcpTool(
    'with several types',
    {
      type: 'object',
      properties: { value: { type: ['string', 'null'], enum: ['a', null] }, count: { type: 'integer', format: 'int64', default: 1 } },
    },
    { value: 'a' },
  ),
  mcpTool(
    'with a long name and dots',
    { type: 'object', properties: { id: { type: 'string' } } },
    { id: '42' },
    `desk.orders/${'find_'.repeat(16)}`,
  ),
];
