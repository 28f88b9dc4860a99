import { randomUUID } from 'node:crypto';
import { createMcpHandler, fromJsonSchema, type jsonSchemaValidator, McpServer } from '@modelcontextprotocol/server';
import { memberOf } from '../../../core/domain/errors.ts';
import type { JsonObject } from '../../../core/domain/json.ts';
import { checkJson, problemsText } from '../../../core/json-schema/check-json-schema.ts';
import { mayStart } from '../../auth/caller.ts';
import { type AgentTool, callAgent, type CallArguments, type McpRequest, SESSION_HEADER } from './call-agent.ts';

/** Checks arguments and answers by interpreting schemas, within bounds: the package's validator compiles schemas to code. */
const validation: jsonSchemaValidator = {
  getValidator<Value>(schema: unknown) {
    const plain = schema as JsonObject;
    return (input: unknown) => {
      const problems = checkJson(plain, input);
      if (problems.length === 0) return { valid: true, data: input as Value, errorMessage: undefined };
      return { valid: false, data: undefined, errorMessage: problemsText(problems) };
    };
  },
};

/**
 * Answers one request of the protocol, in any of its versions. Nothing is kept between requests: the instances of a service share
 * no state, and a client may reach another instance each time.
 */
export async function serveMcp(tools: readonly AgentTool[], body: unknown, request: McpRequest): Promise<Response> {
  const failures: unknown[] = [];
  const { fetch } = createMcpHandler(() => serverFor(tools, request), {
    // A comment every 15 seconds keeps the connection of a call open.
    responseMode: 'sse',
    onerror: (error) => void failures.push(error),
  });
  const response = await fetch(request.raw, { parsedBody: body });
  // Other failures are mistakes of the client.
  if (response.status >= 500) request.report(failures.at(-1), { id: randomUUID(), method: 'POST', path: '/mcp' });
  return memberOf(body, 'method') === 'initialize' && response.ok ? withSession(response) : response;
}

/** Returns a server with the agents that the caller may start. */
function serverFor(tools: readonly AgentTool[], request: McpRequest): McpServer {
  const server = new McpServer(
    { name: 'longhaul', version: '1' },
    {
      capabilities: { tools: { listChanged: false } },
      jsonSchemaValidator: validation,
      instructions: 'Each tool gives a task to an agent and returns its answer, which may take minutes: ask for progress.',
    },
  );
  for (const tool of tools.filter(({ agent }) => mayStart(request.caller, agent.name))) {
    const { name, description, inputSchema, outputSchema, agent } = tool;
    server.registerTool(
      name,
      {
        description,
        ...(name === agent.name ? {} : { title: agent.name }),
        inputSchema: fromJsonSchema<CallArguments>(inputSchema, validation),
        ...(outputSchema === undefined ? {} : { outputSchema: fromJsonSchema(outputSchema, validation) }),
      },
      (args, context) => callAgent(tool, args, context, request),
    );
  }
  return server;
}

/**
 * Gives a client a name for its session, which it sends with each further request. The service keeps nothing under that name: together
 * with a request id, which is unique in a session, it identifies a repeated request, and the call to cancel.
 */
function withSession(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set(SESSION_HEADER, randomUUID());
  return new Response(response.body, { status: response.status, headers });
}
