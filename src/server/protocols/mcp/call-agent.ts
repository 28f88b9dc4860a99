import { createHash } from 'node:crypto';
import type { CallToolResult, ContentBlock, ServerContext } from '@modelcontextprotocol/server';
import type { IfExists } from '../../../client/client-options.ts';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { StreamedResult, StreamItem } from '../../../client/stream/stream-item.ts';
import { type ContentPart, isToolCall, outputParts, outputText, partText } from '../../../core/domain/content.ts';
import { defined, type JsonObject, type JsonValue } from '../../../core/domain/json.ts';
import type { Principal, RunStatus } from '../../../core/domain/run.ts';
import { cutNote, isCutOff } from '../../../core/domain/tool-calls.ts';
import { mapSubschemas, requiredOf } from '../../../core/json-schema/json-schema.ts';
import type { AnyAgent } from '../../../define/agent-definition.ts';
import { jsonSchemaOf } from '../../../schema/zod-schemas.ts';
import { type Caller, principalOf } from '../../auth/caller.ts';
import { requireAdmission } from '../../limits.ts';
import { problemOf, type ReportError, RequestError } from '../../problems.ts';
import { callerTrace, memoWith, requestDigest, runIdOfKey, startOnce, type StartOutcome, whileWaiting } from '../../requests.ts';
import type { McpSettings, ServerSettings } from '../../server-options.ts';
import { untilRefused } from '../../streams.ts';

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
 * Runs an agent for a call and waits for its answer. Never rejects: an error becomes a result for the model, without a stack or
 * anything that only the operator may know.
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
  const runId = name === undefined ? undefined : runIdOfCall(principalOf(caller), name);
  const digest = name === undefined ? undefined : requestDigest('mcp', name, { agent: agent.name, ...args });
  const options = { ...callerTrace(raw), ...args, ...memoWith(undefined, digest), ...defined({ runId }) };
  const start = async (ifExists: IfExists): Promise<string> => (await client.start(agent, { ...options, ifExists })).runId;
  return startOnce({ client: client.temporal, runId, isOfKey: true, digest, start });
}

/** Returns the function that reports progress of its run to the caller, if requested. */
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

/** The facts about a call's run in its result. */
interface CalledRun {
  runId: string;
  /** True: the caller gave a key, so calling again finds the run. */
  hasKey: boolean;
  /** The path at which the service shows the run. */
  path: string;
  /** True: the agent's answer has a schema. */
  isStructured: boolean;
}

/** Returns the result of a call from the outcome of its wait. Anything but the answer of a completed run is an error. */
function callResult(run: CalledRun, followed: Followed): CallToolResult {
  if (followed.type === 'goes_on') return { ...errorResult(continuesText(run, followed)), _meta: metaOf(run, followed.status) };
  const { result } = followed;
  const lastFinish = result.finishReason ?? followed.lastFinish;
  const answer = result.status === 'completed' ? answerResult(run, result.output, lastFinish) : errorResult(endedText(result));
  const finishReason = lastFinish === undefined ? {} : { [META.finishReason]: lastFinish };
  return { ...answer, _meta: { ...metaOf(run, result.status), ...finishReason } };
}

/** Returns a result that the model reads as a failed call. */
function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

function metaOf({ runId }: CalledRun, status: string): Record<string, unknown> {
  return { [META.runId]: runId, [META.status]: status };
}

function answerResult({ isStructured }: CalledRun, output: JsonValue, finishReason: string | undefined): CallToolResult {
  // The text is for clients that do not read structured content.
  if (isStructured) return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output };
  const parts = outputParts(output);
  const note = finishReason !== undefined && isCutOff(finishReason) ? [{ type: 'text' as const, text: cutNote(finishReason) }] : [];
  return { content: [...(parts.length === 0 ? [{ type: 'text' as const, text: outputText(output) }] : parts.map(blockOf)), ...note] };
}

/** Returns a part of an answer in the protocol's form: media other than small images and audio become text with their address. */
function blockOf(part: ContentPart): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { type, data, url, mediaType } = part;
  if (data !== undefined && mediaType !== undefined && (type === 'image' || type === 'audio')) return { type, data, mimeType: mediaType };
  return { type: 'text', text: url === undefined ? partText(part) : `${partText(part)} ${url}` };
}

function endedText({ status, stopReason, error, errorCode, cancelReason, output }: StreamedResult): string {
  if (status === 'cancelled') return `The run was cancelled${cancelReason === undefined ? '' : `: ${cancelReason}`}`;
  if (status === 'error') return `The run failed${errorCode === undefined ? '' : ` (${errorCode})`}${error === null ? '' : `: ${error}`}`;
  const partial = outputText(output);
  return `The run did not complete (${stopReason})${partial === '' ? '' : `. Its last answer: ${partial}`}`;
}

function continuesText({ runId, hasKey, path }: CalledRun, { status, waitsFor = '' }: Extract<Followed, { type: 'goes_on' }>): string {
  const about = waitsFor === '' ? '' : ` about ${waitsFor}`;
  const why = status === 'pending_confirmation' ? `it waits for a person to decide${about}` : 'it has not ended yet';
  const later = hasKey ? `call again with the same "${META.idempotencyKey}", or read "${path}"` : `read "${path}"`;
  return `The run "${runId}" continues: ${why}. Do not give the task again. For its result, ${later}`;
}

/** The part of a run's handle that a call follows. */
export type FollowedRun = Pick<RunHandle<unknown>, 'runId' | 'stream' | 'approvals'>;

/**
 * The outcome of the wait of a call: the end of its run, or the state in which the run continues without it. `lastFinish`: why the
 * model ended its last answer.
 */
type Followed =
  | { type: 'ended'; result: StreamedResult; lastFinish: string | undefined }
  | { type: 'goes_on'; status: RunStatus; waitsFor?: string };

/** The options of following a run. */
interface FollowOptions {
  settings: McpSettings;
  /** Ends the wait: the caller has gone, its credentials have expired, or the service is about to end. */
  signal: AbortSignal;
  progress: (message: string) => void;
}

/** Waits for the end of a run within the bounds of a call. Never changes the run, however it ends. Throws the errors of reading the run. */
export async function followRun(run: FollowedRun, { settings, signal, progress }: FollowOptions): Promise<Followed> {
  const late = new AbortController();
  const stop = (): void => late.abort();
  const timer = setTimeout(stop, settings.maxWaitMs);
  let decisionTimer: NodeJS.Timeout | undefined;
  let lastFinish: string | undefined;
  let state: { status: RunStatus; waitsFor?: string } = { status: 'running' };
  const waiting = AbortSignal.any([signal, late.signal]);
  try {
    for await (const item of run.stream({ signal: waiting })) {
      if (item.type === 'end') return { type: 'ended', result: item.result, lastFinish };
      if (item.type === 'step') lastFinish = item.step.finishReason;
      const text = progressText(item);
      if (item.type === 'status' && item.status === 'pending_confirmation') {
        decisionTimer ??= setTimeout(stop, settings.maxDecisionWaitMs);
        state = { status: item.status, waitsFor: await pendingCalls(run) };
        progress(state.waitsFor === '' ? `${text}` : `${text} about ${state.waitsFor}`);
        continue;
      }
      if (item.type === 'status') {
        clearTimeout(decisionTimer);
        decisionTimer = undefined;
        state = { status: item.status };
      }
      if (text !== undefined) progress(text);
    }
  } catch (error) {
    if (!waiting.aborted) throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(decisionTimer);
  }
  return { type: 'goes_on', ...state };
}

/** Returns the names of the waiting calls. No decision depends on them, so a worker that does not answer is not an error. */
async function pendingCalls(run: FollowedRun): Promise<string> {
  try {
    return namesText((await run.approvals()).pending.map(({ toolName }) => toolName));
  } catch {
    return '';
  }
}

const MOST_NAMES = 10;

const STATUS_TEXTS: Partial<Record<RunStatus, string>> = {
  running: 'The agent works',
  pending_confirmation: 'The run waits for a person to decide',
  paused: 'The run is paused',
};

/** Returns a stream item as a progress message; undefined if it says nothing new. The message only has names, no content. */
function progressText(item: StreamItem): string | undefined {
  switch (item.type) {
    case 'event': {
      const { content, given } = item.event;
      const calls = content.filter(isToolCall).map(({ name }) => name);
      return calls.length === 0 || given === true ? undefined : `The agent calls ${namesText(calls)}`;
    }
    case 'step':
      return `Step ${item.step.step} is done`;
    case 'status':
      return STATUS_TEXTS[item.status];
    default:
      return undefined;
  }
}

/** Joins the names of tools: `search (2), refund`. */
function namesText(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const shown = distinct.slice(0, MOST_NAMES).map((name) => {
    const count = names.filter((one) => one === name).length;
    return count === 1 ? name : `${name} (${count})`;
  });
  return [...shown, ...(distinct.length > MOST_NAMES ? [`${distinct.length - MOST_NAMES} more`] : [])].join(', ');
}

/** An agent as a tool of the MCP server. */
export interface AgentTool {
  name: string;
  description: string;
  inputSchema: JsonObject;
  /** The schema of the structured answer. Absent: the agent answers with text. */
  outputSchema?: JsonObject;
  agent: AnyAgent;
}

/** The longest tool name that model providers accept. */
const LONGEST_NAME = 64;

const INPUT: JsonObject = { type: 'string', minLength: 1, description: 'The task, with everything that the agent needs to know for it.' };

/** Returns the tools of a service. Every instance with the same agents has the same names. */
export function agentTools(agents: readonly AnyAgent[]): AgentTool[] {
  const plain = agents.map(({ name }) => plainName(name));
  return agents.map((agent, index) => {
    const name = plain[index] ?? '';
    const isTaken = name === '' || plain.indexOf(name) !== plain.lastIndexOf(name);
    return toolOf(agent, isTaken ? distinctName(name, agent.name) : name);
  });
}

/** Returns a name with only characters that clients and model providers accept: any other becomes `_`. */
function plainName(name: string): string {
  return name.replaceAll(/[^\w-]/g, '_').slice(0, LONGEST_NAME);
}

function distinctName(plain: string, name: string): string {
  const digits = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${plain.slice(0, LONGEST_NAME - digits.length - 1)}_${digits}`;
}

function toolOf(agent: AnyAgent, name: string): AgentTool {
  const { description = `Gives a task to the agent "${agent.name}" and returns its answer.`, output } = agent;
  const outputSchema = output === undefined ? {} : { outputSchema: jsonSchemaOf(output.zod, `agent "${agent.name}": output`, 'output') };
  return { name, description, inputSchema: inputSchemaOf(agent), ...outputSchema, agent };
}

function inputSchemaOf({ depsSchema }: AnyAgent): JsonObject {
  if (depsSchema === undefined) return { type: 'object', properties: { input: INPUT }, required: ['input'], additionalProperties: false };
  const deps = { description: 'The data that the agent works with.', ...withReferencesBelow(depsSchema, '/properties/deps') };
  const required = requiredOf(depsSchema).length > 0 ? ['input', 'deps'] : ['input'];
  return { type: 'object', properties: { input: INPUT, deps }, required, additionalProperties: false };
}

/** Returns a schema for use inside another one, with its references changed to its place there, such as `/properties/deps`. */
function withReferencesBelow(schema: JsonObject, place: string): JsonObject {
  const { $ref, ...rest } = mapSubschemas(schema, (inner) => withReferencesBelow(inner, place));
  if (typeof $ref !== 'string') return rest;
  return { ...rest, $ref: $ref.startsWith('#') ? `#${place}${$ref.slice(1)}` : $ref };
}

/** The names in the `_meta` of requests and results. */
export const META = {
  /** In a call: the key that finds it again. In `notifications/cancelled`: the key of the call to cancel. */
  idempotencyKey: 'longhaul/idempotencyKey',
  /** In results and progress: the run of the call. In `notifications/cancelled`: the run to cancel. */
  runId: 'longhaul/runId',
  /** In results: the status of the run. */
  status: 'longhaul/status',
  /** In results: why the model ended its last answer. `length`: it was cut off. */
  finishReason: 'longhaul/finishReason',
} as const;

/** The header in which clients of the protocol up to 2025-11-25 name their session. */
export const SESSION_HEADER = 'mcp-session-id';

const LONGEST_KEY = 255;

/** The `_meta` of a message. */
type Meta = Readonly<Record<string, unknown>> | undefined;

/** The parts of a call that identify a repetition. */
interface CallParts {
  meta: Meta;
  /** The session of the client. Absent in the protocol of 2026-07-28, which has none. */
  session: string | null;
  /** The JSON-RPC id of the request, unique in the session of its client. */
  requestId: unknown;
}

/**
 * Returns the name of a call, with which every instance of the service finds its run: the caller's key, or else the session and
 * the request id. Undefined if there is neither: then repeated requests cannot be recognized. Throws `invalid_request`.
 */
export function nameOfCall({ meta, session, requestId }: CallParts): string | undefined {
  const key = keyInMeta(meta);
  if (key !== undefined) return JSON.stringify(['mcp', 'key', key]);
  const isId = typeof requestId === 'string' || typeof requestId === 'number';
  return session === null || !isId ? undefined : JSON.stringify(['mcp', 'request', session, requestId]);
}

/** Returns the id of the run that a call with this name starts. Calls of different principals never collide. */
export function runIdOfCall(principal: Principal | undefined, name: string): string {
  return runIdOfKey(principal, name);
}

/** Returns the caller's key, or undefined. Throws `invalid_request` for a key that is not a text of 1 to 255 characters. */
function keyInMeta(meta: Meta): string | undefined {
  const key = meta?.[META.idempotencyKey];
  if (key === undefined || (typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY && key.isWellFormed())) return key;
  throw new RequestError(
    'invalid_request',
    `"${META.idempotencyKey}" of "_meta" is not a text of 1 to ${LONGEST_KEY} characters: write such a key`,
  );
}
