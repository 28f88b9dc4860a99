import type { AgentSnapshot } from '../domain/agent.ts';
import { type ContentItem, isToolCall, type Message, needsResponse, type ToolResult } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { isRecall } from '../domain/memory.ts';
import type { AggregatedUsage } from '../domain/usage.ts';
import { type CallsNotRun, requestedCalls } from '../domain/tool-calls.ts';
import type { Event } from '../domain/record.ts';
import { isoTime } from '../domain/time.ts';
import type { Window } from '../domain/window.ts';
import { type SavedContext, type SavedMessage, type SavedUsage, toSavedContext, toSavedMessage } from './saved-context.ts';

interface RunToSave {
  /** The agent that acts. */
  agent: Pick<AgentSnapshot, 'name' | 'description' | 'instructions'>;
  window: Pick<Window, 'events'>;
  /** Events of the record whose times are known. */
  events: readonly Pick<Event, 'id' | 'timestamp'>[];
  deps: JsonObject;
  usage: AggregatedUsage;
  toolCallsTotal: number;
  toolCallsNotRun?: CallsNotRun | undefined;
  /** The number of steps that are complete. */
  currentStep: number;
  maxIterations: number;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/**
 * Returns the context of a run as a document: the conversation that the model sees now, and the calls in it. Entries from memory are no
 * part of it: a run that continues recalls anew, and an entry that was forgotten meanwhile must not come back as a text of the user.
 */
export function contextOfRun({ agent, window, events, startedAt, ...run }: RunToSave): SavedContext {
  const times = new Map(events.map(({ id, timestamp }) => [id, timestamp]));
  const conversation = window.events.filter((event) => !isRecall(event));
  const content = conversation.flatMap((event) => event.content);
  return toSavedContext({
    messages: savedMessages(conversation.map((event) => ({ content: event.content, createdAt: times.get(event.id) }))),
    tool_calls: content.filter(isToolCall).map(({ toolCallId, name, arguments: args }) => ({ id: toolCallId, name, arguments: args })),
    system_prompt: agent.instructions.length === 0 ? null : agent.instructions.join('\n\n'),
    deps: run.deps,
    usage: savedUsage(run.usage, requestedCalls(run)),
    needs_response: needsResponse(content),
    iteration: run.currentStep,
    max_iterations: run.maxIterations,
    started_at: isoTime(startedAt),
    agent_name: agent.name,
    ...defined({ agent_description: agent.description }),
  });
}

/** Usage that no provider has reported is not saved. */
function savedUsage(usage: AggregatedUsage, toolCalls: number): SavedUsage {
  const { cacheWriteTokens } = usage;
  return {
    requests: usage.llmCalls,
    tool_calls: toolCalls,
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    ...defined({ cache_creation_input_tokens: cacheWriteTokens }),
    cache_read_input_tokens: usage.cachedTokens,
  };
}

/** The content of one event, with its time if it is known. */
interface EventToSave {
  content: readonly ContentItem[];
  /** ISO 8601. */
  createdAt?: string | undefined;
}

/** Returns a conversation as messages: a text of the model and the calls after it are one, and each result is one of its own. */
export function savedMessages(events: readonly EventToSave[]): SavedMessage[] {
  return events.flatMap(({ content, createdAt }) => {
    const messages: SavedMessage[] = [];
    for (const item of content) {
      const last = messages.at(-1);
      if (!isToolCall(item)) messages.push(item.type === 'message' ? saidMessage(item) : resultMessage(item));
      else if (last?.role === 'assistant') last.tool_calls.push(savedCall(item));
      else messages.push(toSavedMessage({ role: 'assistant', tool_calls: [savedCall(item)] }));
    }
    return createdAt === undefined ? messages : messages.map((message) => ({ ...message, created_at: createdAt }));
  });
}

function savedCall({ toolCallId, name, arguments: args }: ContentItem & { type: 'tool_call' }): JsonObject {
  return { id: toolCallId, name, arguments: args };
}

function saidMessage({ role, content }: Message): SavedMessage {
  return toSavedMessage({ role, content: typeof content === 'string' ? content : (jsonCopy(content) as JsonValue[]) });
}

/** A single text is the content itself, and anything else a list of values. */
function resultMessage({ toolCallId, name, status, content, spilled }: ToolResult): SavedMessage {
  const [only] = content;
  return toSavedMessage({
    role: 'tool',
    tool_call_id: toolCallId,
    name,
    content: content.length === 1 && typeof only === 'string' ? only : content,
    metadata: {
      ...(status === 'error' ? { is_error: true } : {}),
      ...(spilled === undefined ? {} : { spilled: jsonCopy(spilled) }),
    },
  });
}

/** Copies a value of the domain as JSON. */
function jsonCopy(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
