import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode, errorMessage } from '../../../core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/domain/json.ts';
import type { AnyAgent } from '../../../define/agent-definition.ts';
import { principalOf, recordedName } from '../../auth/caller.ts';
import { httpStatusOf, type ReportError } from '../../problems.ts';
import { readJsonBody } from '../../requests.ts';
import { defineRoute, type Route } from '../../route.ts';
import { agentTools, type McpRequest, META, nameOfCall, runIdOfCall, SESSION_HEADER } from './call-agent.ts';

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

/** Bounds the members of a message: the package checks each against the schema of every kind of message. */
function hasTooManyMembers(value: unknown, levels = 4): boolean {
  if (typeof value !== 'object' || value === null || levels === 0) return false;
  const members: unknown[] = Object.values(value);
  return members.length > MOST_MEMBERS || members.some((member) => hasTooManyMembers(member, levels - 1));
}

/** Returns the body of a request, or the JSON-RPC response that refuses it. */
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

/** The longest reason that a run records. */
const LONGEST_REASON = 500;

/** The pauses before a run is looked for again: its call may have just been sent, and be on its way to another instance. */
const PAUSES_MS = [100, 400];

/** The most messages of one request that are read. */
const MOST_MESSAGES = 16;

/** Matches the reason of a cancellation that the client's own time limit has caused. */
const TIME_OUT = /time(?:d)?[\s-]?out|deadline exceeded/i;

/**
 * Cancels the runs that the messages of a request cancel. A client whose time limit has passed sends the same notification as one whose
 * user has cancelled, and only the reason shows it: such a run continues. An unknown or ended run is not an error.
 */
async function cancelCalls(body: unknown, request: McpRequest): Promise<void> {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  // A client cancels its own few calls: the request counts as one.
  if (messages.length > MOST_MESSAGES) return;
  await Promise.all(messages.map((message) => cancelCall(message as JsonValue, request)));
}

async function cancelCall(message: JsonValue, request: McpRequest): Promise<void> {
  if (!isJsonObject(message) || message['method'] !== 'notifications/cancelled') return;
  const params = isJsonObject(message['params']) ? message['params'] : {};
  const reason = typeof params['reason'] === 'string' ? params['reason'].toWellFormed().slice(0, LONGEST_REASON) : '';
  const runId = runOf(params, request);
  if (runId === undefined || TIME_OUT.test(reason)) return;
  const why = reason === '' ? 'cancelled over MCP' : `cancelled over MCP: ${reason}`;
  if (await isCancelled(runId, why, request)) return;
  for (const pause of PAUSES_MS) {
    await sleep(pause);
    if (await isCancelled(runId, why, request)) return;
  }
}

/** Cancels a run. False if it does not exist. */
async function isCancelled(runId: string, why: string, { client, caller }: McpRequest): Promise<boolean> {
  try {
    await client.handle(runId).cancel(why, { by: recordedName(caller) });
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'not_a_run') return true;
    if (code === 'run_not_found') return false;
    throw error;
  }
}

/** Returns the run that a cancellation names: by its id, by the key of its call, or by the request in its session. */
function runOf({ requestId, _meta }: JsonObject, { caller, raw }: McpRequest): string | undefined {
  const meta = isJsonObject(_meta) ? _meta : undefined;
  const given = meta?.[META.runId];
  if (typeof given === 'string' && given !== '') return given;
  const name = nameOfCall({ meta, session: raw.headers.get(SESSION_HEADER), requestId });
  return name === undefined ? undefined : runIdOfCall(principalOf(caller), name);
}
