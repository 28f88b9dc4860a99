import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { JsonObject } from '../../../core/domain/json/json.ts';
import { untilRefused } from '../../auth/until-refused.ts';
import type { Caller } from '../../auth/caller.ts';
import { requireAdmission } from '../../limits/admission.ts';
import { whileWaiting } from '../../limits/while-waiting.ts';
import { problemOf, type ReportError } from '../../problems/problem-of.ts';
import { requestDigest } from '../../requests/idempotency-key.ts';
import type { ServerSettings } from '../../server-settings.ts';
import { startOnce, type StartOutcome } from '../../starting/start-once.ts';
import { memoWith } from '../../starting/start-options.ts';
import type { AgentTool } from './agent-tools.ts';
import { META, nameOfCall, runIdOfCall, SESSION_HEADER } from './call-names.ts';
import { callResult, errorResult } from './call-result.ts';
import { followRun } from './follow-run.ts';

/** The request that a call is part of. */
export interface McpRequest {
  caller: Caller;
  /** The client that acts for the caller's principal. */
  client: LonghaulClient;
  settings: ServerSettings;
  raw: Request;
  /** Aborted once the caller has gone, or the service ends. */
  signal: AbortSignal;
  report: ReportError;
}

/** The arguments of a call, checked. */
export interface CallArguments {
  input: string;
  deps?: JsonObject;
}

/**
 * Runs an agent for a call and waits for its answer. Never rejects: an error is a result that the model reads, without a stack and
 * without anything that only the operator may know.
 */
export async function callAgent(
  tool: AgentTool,
  args: CallArguments,
  context: ServerContext,
  request: McpRequest,
): Promise<CallToolResult> {
  try {
    const { limits } = request.settings;
    if (limits !== undefined) requireAdmission(limits.start(request.caller));
    return await whileWaiting(request, () => answeredCall(tool, args, context, request));
  } catch (error) {
    const { problem } = problemOf(error, { method: 'tools/call', path: tool.name }, request.report);
    return errorResult(`The call failed (${problem.code}): ${problem.detail}`);
  }
}

async function answeredCall(
  { agent }: AgentTool,
  args: CallArguments,
  context: ServerContext,
  request: McpRequest,
): Promise<CallToolResult> {
  const { client, settings, caller, raw } = request;
  const { _meta: meta, signal: asked } = context.mcpReq;
  const { runId, repeated } = await startedRun(agent, args, context, request);
  const progress = progressOf(context, runId);
  progress(`The run "${runId}" ${repeated ? 'had begun before' : 'has begun'}`);
  const ended = new AbortController();
  const signal = AbortSignal.any([request.signal, asked, ended.signal]);
  try {
    const followed = await followRun(client.handle(runId), {
      settings: settings.mcp,
      signal: untilRefused({ request: raw, authenticate: settings.authenticate, caller, signal, scope: 'runs:write' }),
      progress,
    });
    const path = `${settings.prefix}/v1/runs/${encodeURIComponent(runId)}/result`;
    const hasKey = meta?.[META.idempotencyKey] !== undefined;
    return callResult({ runId, hasKey, path, isStructured: agent.output !== undefined }, followed);
  } finally {
    ended.abort();
  }
}

/** Starts the run of a call, or finds the one that the same call has started. */
async function startedRun(
  agent: AgentTool['agent'],
  args: CallArguments,
  { mcpReq: { _meta: meta, id } }: ServerContext,
  { client, caller, raw }: McpRequest,
): Promise<StartOutcome> {
  const name = nameOfCall({ meta, session: raw.headers.get(SESSION_HEADER), requestId: id });
  const runId = name === undefined ? undefined : runIdOfCall(caller.principal, name);
  const digest = name === undefined ? undefined : requestDigest('mcp', name, { agent: agent.name, ...args });
  const options = { ...args, ...memoWith(undefined, digest), ...(runId === undefined ? {} : { runId }) };
  const start = async (ifExists: 'fail' | 'return'): Promise<string> => (await client.start(agent, { ...options, ifExists })).runId;
  return startOnce({
    client: client.temporal,
    runId,
    isOfKey: true,
    digest,
    start: () => start('fail'),
    existing: name === undefined ? undefined : () => start('return'),
  });
}

/** Returns the function that tells a caller about its run, if it has asked for progress. */
function progressOf({ mcpReq }: ServerContext, runId: string): (message: string) => void {
  const { _meta: meta } = mcpReq;
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  return (message) => {
    progress += 1;
    const params = { progressToken, progress, message, _meta: { [META.runId]: runId } };
    // A caller that has gone reads no progress.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
