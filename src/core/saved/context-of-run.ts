import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import { isToolCall } from '../domain/content/content.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { isRecall } from '../domain/memory/recalled.ts';
import type { AggregatedUsage } from '../domain/model/usage.ts';
import type { Event } from '../domain/record/event.ts';
import { needsResponse } from '../domain/record/needs-response.ts';
import type { Window } from '../domain/record/window.ts';
import type { SavedContext, SavedUsage } from './saved-context.ts';
import { type CallsNotRun, requestedCalls } from '../domain/record/calls-not-run.ts';
import { savedMessages } from './saved-messages.ts';
import { toSavedContext } from './to-saved-context.ts';
import { isoTime } from '../domain/record/time.ts';

/** The part of a run that is saved. */
export interface RunToSave {
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
 * part of it: a run that goes on recalls anew, and an entry that was forgotten meanwhile must not come back as a text of the user.
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
    ...(agent.description === undefined ? {} : { agent_description: agent.description }),
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
    ...(cacheWriteTokens === undefined ? {} : { cache_creation_input_tokens: cacheWriteTokens }),
    cache_read_input_tokens: usage.cachedTokens,
  };
}
