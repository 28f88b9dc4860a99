import type { Client } from '@temporalio/client';
import { BYTE_BUDGETS, jsonBytes } from '../core/domain/byte-budgets.ts';
import {
  type ContentItem,
  type ContentPart,
  SPILLED_CONTENT,
  type SpilledContent,
  type ToolCall,
  type ToolResult,
} from '../core/domain/content.ts';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined, isJsonObject, isTexts, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import { identityOf, isSameIdentity, type Principal } from '../core/domain/run.ts';
import { counted } from '../core/domain/text.ts';
import { evictedResult } from '../core/domain/window.ts';
import { checkJson } from '../core/json-schema/check-json-schema.ts';
import { readSavedContext, type SavedContext, type SavedMessage } from '../core/saved/saved-context.ts';
import { parseToolCall } from '../model/interpret-response.ts';
import { checkRunId, runNotFound } from '../temporal/run-workflow.ts';
import { RunReader } from './reader.ts';
import { RunAccess } from './run-access.ts';

/** The earlier conversation that a run begins with: a document, or the conversation of a run that has ended. */
export type EarlierOpening =
  | {
      /** A saved context, as `save` returned it. */
      saved: SavedContext;
      /** Text, or parts if it has media. May be left out if the last message needs a response of the model. */
      input?: string | ContentPart[];
    }
  | {
      /** A run that has ended and acts for the same principal. */
      previousRunId: string;
      /** Text, or parts if it has media. May be left out if the last message needs a response of the model. */
      input?: string | ContentPart[];
    };

/** The values that a run takes over. */
interface Earlier {
  messages: ContentItem[];
  deps: JsonObject;
  /** The step limit. */
  steps?: number;
  /** Notices for the person who starts the run. */
  notices: string[];
}

/** The run that is about to be started. */
interface NewRun {
  /** The name of its agent. */
  agent: string;
  principal?: Principal | undefined;
}

/**
 * Reads the earlier conversation that a run begins with, or undefined. Throws `invalid_input` for a document that
 * cannot be read, `run_not_found` for a run of another principal, `run_open`, and a UsageError for several conversations.
 */
export async function readEarlier(client: Client, options: Record<string, unknown>, run: NewRun): Promise<Earlier | undefined> {
  requireOneConversation('the start', options);
  const { saved, previousRunId } = options;
  if (saved !== undefined) return fittingEarlier(fromDocument(saved, run), options);
  return previousRunId === undefined ? undefined : fittingEarlier(await fromRun(client, checkRunId(previousRunId), run), options);
}

/**
 * Reads the saved context that a session begins with, or undefined. The step limit of the document is
 * ignored: it is for a whole run, and each turn of a session has the limits of its agent. Throws `invalid_input` for a document that
 * cannot be read, and a UsageError for several conversations.
 */
export function readSaved(options: Record<string, unknown>, agent: string): Omit<Earlier, 'steps'> | undefined {
  requireOneConversation('the session', options);
  const { saved } = options;
  return saved === undefined ? undefined : fittingEarlier(fromDocument(saved, { agent }), {});
}

/** Returns options with the conversation and the deps of an earlier run, if any. Deps in the options override the earlier ones by key. */
export function withEarlier<Options extends { deps?: unknown }>(
  options: Options,
  earlier: Omit<Earlier, 'steps'> | undefined,
): Options & { deps?: unknown; messages?: readonly ContentItem[] } {
  if (earlier === undefined) return options;
  const { messages, deps } = earlier;
  const own = options.deps;
  if (own === undefined && Object.keys(deps).length === 0) return { ...options, messages };
  return { ...options, messages, deps: isJsonObject(own) ? { ...deps, ...own } : (own ?? deps) };
}

function requireOneConversation(owner: string, { messages, saved, previousRunId }: Record<string, unknown>): void {
  const given = Object.entries({ messages, saved, previousRunId }).filter(([, value]) => value !== undefined);
  if (given.length <= 1) return;
  throw new UsageError(`${owner} has several conversations, ${given.map(([name]) => `"${name}"`).join(' and ')}: give one of them`);
}

/** Returns the conversation, without the oldest tool results if it is too large for the input of a run. */
function fittingEarlier(earlier: Earlier, { input }: Record<string, unknown>): Earlier {
  const room = BYTE_BUDGETS.startInput - (input === undefined ? 0 : jsonBytes(input));
  const { messages, evicted } = fitMessages(earlier.messages, room);
  if (evicted === 0) return earlier;
  const notice = `The conversation is too large for the start of a run: ${counted(evicted, 'result')} of tools, the oldest, became markers`;
  return { ...earlier, messages, notices: [...earlier.notices, notice] };
}

/** Returns what a run takes over from a saved context. */
export function fromDocument(saved: unknown, { agent }: NewRun): Earlier {
  const read = readSavedContext(saved);
  if (!read.ok) throw new LonghaulError('invalid_input', `The run cannot start: "saved" is not a saved context: ${read.problem}`);
  const { context, warnings } = read;
  const { messages, notices } = givenMessages(context);
  const { agent_name: savedAgent, deps } = context;
  // Only a limit that the document sets: the default of documents is not the agent's default.
  const steps = isJsonObject(saved) && typeof saved['max_iterations'] === 'number' ? saved['max_iterations'] : 0;
  return {
    messages,
    deps,
    ...(steps === 0 ? {} : { steps }),
    notices: [
      ...(savedAgent === null || savedAgent === agent
        ? []
        : [`The saved context is from agent "${savedAgent}": agent "${agent}" continues it`]),
      ...[...warnings, ...notices].map((one) => `The saved context: ${one}`),
    ],
  };
}

async function fromRun(client: Client, runId: string, { principal }: NewRun): Promise<Earlier> {
  // A caller with a principal must not learn that another workflow exists, not even that it is not a run.
  if (principal !== undefined) await new RunAccess(client, identityOf(principal)).require(runId);
  const reader = new RunReader(client, runId);
  const { closed } = await reader.chain.newest();
  // Read after the run has ended, when its history is complete.
  const recorded = await reader.recordedRun();
  // The caller must not learn that the run of another principal exists.
  if (!isSameIdentity(principal ?? {}, recorded.principal ?? {})) throw runNotFound(client, runId);
  if (!closed)
    throw new LonghaulError('run_open', `Run "${runId}" is still running: send it a message, or begin from it once it has ended`);
  const { conversationState, savedContextOf } = await import('./recorded-views.ts');
  const { deps } = conversationState(runId, recorded);
  return { ...givenMessages(savedContextOf(runId, recorded)), deps };
}

/**
 * Replaces the content of the oldest tool results with a marker, as the compaction of a run does, until the conversation has at
 * most `bytes` of JSON. It may still be larger if its messages alone are. `evicted`: the number of replaced results.
 */
export function fitMessages(messages: readonly ContentItem[], bytes: number): { messages: ContentItem[]; evicted: number } {
  let over = jsonBytes(messages) - bytes;
  let evicted = 0;
  const fitting = messages.map((item) => {
    if (over <= 0 || item.type !== 'tool_result') return item;
    const marked = evictedResult(item);
    const saved = jsonBytes(item) - jsonBytes(marked);
    if (saved <= 0) return item;
    over -= saved;
    evicted += 1;
    return marked;
  });
  return { messages: fitting, evicted };
}

/** The conversation of a document in the form that a start takes, and a notice for each message that is left out. */
interface GivenMessages {
  messages: ContentItem[];
  notices: string[];
}

/**
 * Returns the conversation of a saved context. The instructions at its beginning are left out, because the agent of the run has
 * its own. A result is moved after the message that asked for it; one that no message has asked for is left out,
 * with a notice. A call that reuses an earlier id gets another id, and so does its result.
 */
export function givenMessages({ messages, system_prompt }: Pick<SavedContext, 'messages' | 'system_prompt'>): GivenMessages {
  const groups: ContentItem[][] = [];
  // The calls whose results have not been found yet, and the results to put after their messages.
  const open = new Map<string, { call: ToolCall; results: ToolResult[] }>();
  const ids = new Set<string>();
  const notices: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (index === 0 && message.role === 'system' && message.content === system_prompt) continue;
    if (message.role === 'tool') {
      const callId = message.tool_call_id ?? '';
      const asked = open.get(callId);
      open.delete(callId);
      if (asked === undefined) notices.push(`messages[${index}] is left out: no call "${callId}" without a result stands before it`);
      else asked.results.push(toResult(message, asked.call));
      continue;
    }
    const results: ToolResult[] = [];
    const calls = message.role === 'assistant' ? message.tool_calls.map((one) => toCall(one, ids)) : [];
    for (const { givenId, call } of calls) open.set(givenId, { call, results });
    groups.push([...toMessage(message), ...calls.map(({ call }) => call)], results);
  }
  return { messages: groups.flat(), notices };
}

/** Returns a call with a unique id, and the original id, which its result names. */
function toCall(saved: JsonValue, ids: Set<string>): { givenId: string; call: ToolCall } {
  const { toolCallId, name, arguments: args } = parseToolCall(saved);
  let id = toolCallId;
  for (let count = 2; ids.has(id); count += 1) id = `${toolCallId}_${count}`;
  ids.add(id);
  return { givenId: toolCallId, call: { type: 'tool_call', toolCallId: id, name, arguments: args } };
}

/** Returns no message for an assistant that only called tools or said nothing. */
function toMessage({ role, content }: SavedMessage): ContentItem[] {
  if (role === 'tool' || content === null || (role === 'assistant' && content.length === 0)) return [];
  // Parts are checked with the input of the run.
  return [{ type: 'message', role, content: content as string | ContentPart[] }];
}

function toResult({ content, name, metadata }: SavedMessage, call: ToolCall): ToolResult {
  const { is_error, notes } = metadata;
  const spilled = readSpilledContent(metadata['spilled']);
  return {
    type: 'tool_result',
    toolCallId: call.toolCallId,
    name: name === null || name === '' ? call.name : name,
    status: is_error === true ? 'error' : 'success',
    content: Array.isArray(content) ? content : [content ?? ''],
    ...defined({ spilled }),
    ...(isTexts(notes) ? { notes } : {}),
  };
}

/** Reads the known fields of a location. Undefined for anything else: the result is then what its message says. */
export function readSpilledContent(value: unknown): SpilledContent | undefined {
  if (!isJsonObject(value)) return undefined;
  const { store, claim, bytes, sha256 } = value;
  const location = { store, claim, bytes, sha256 };
  return checkJson(SPILLED_CONTENT, location).length === 0 ? (location as SpilledContent) : undefined;
}
