import { errorCode, errorMessage } from '../../../core/domain/errors/error.ts';
import type { AnyAgent } from '../../../define/agent-definition.ts';
import { httpStatusOf, type ReportError } from '../../problems/problem-of.ts';
import { readJsonBody } from '../../requests/read-body.ts';
import { defineRoute, type Route } from '../../routing/route.ts';
import { agentTools } from './agent-tools.ts';
import { cancelCalls } from './cancel-call.ts';

/** The codes of JSON-RPC. */
const RPC = { parseError: -32700, invalidRequest: -32600 };

/**
 * Returns the route of the MCP server, whose tools are the agents of the service. It is not part of the OpenAPI document: the protocol
 * describes itself.
 */
export function mcpRoute(agents: readonly AnyAgent[], report: ReportError): Route {
  const tools = agentTools(agents);
  return defineRoute(
    {
      method: 'POST',
      path: '/mcp',
      id: 'callAgents',
      tag: 'agents',
      summary: 'Speak the Model Context Protocol',
      scope: 'runs:write',
      responses: { 200: { description: 'The response to a request.' }, 202: { description: 'A notification was accepted.' } },
      problems: [],
    },
    async ({ caller, client, settings, raw, signal }) => {
      const body = await bodyOf(raw);
      if (body instanceof Response) return body;
      const request = { caller, client, settings, raw, signal, report };
      await cancelCalls(body, request);
      // The package is loaded with the first request.
      const { serveMcp } = await import('./serve-mcp.ts');
      return serveMcp(tools, body, request);
    },
  );
}

/** The most messages of a batch, and the most members of a message, of its parameters and of the arguments of a call. */
const MOST_MEMBERS = 1_000;

/** The package tries each member by the schema of every kind of message. */
function hasTooManyMembers(value: unknown, levels = 4): boolean {
  if (typeof value !== 'object' || value === null || levels === 0) return false;
  const members: unknown[] = Object.values(value);
  return members.length > MOST_MEMBERS || members.some((member) => hasTooManyMembers(member, levels - 1));
}

/** Returns the body of a request, or the response that refuses it, in the form of JSON-RPC. */
async function bodyOf(raw: Request): Promise<unknown> {
  try {
    const body = await readJsonBody(raw);
    if (body === undefined) return rpcError(400, RPC.parseError, 'The request has no body: send a JSON-RPC message');
    return hasTooManyMembers(body)
      ? rpcError(400, RPC.invalidRequest, `The message has too many members: send at most ${MOST_MEMBERS}`)
      : body;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return rpcError(httpStatusOf(code), code === 'malformed_request' ? RPC.parseError : RPC.invalidRequest, errorMessage(error));
  }
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
