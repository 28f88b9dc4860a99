import { createHash } from 'node:crypto';
import { toolsFor } from '../core/code/callable-tools.ts';
import { runCodeTool } from '../core/code/run-code.ts';
import type { AgentSnapshot, OutputSnapshot, PlainToolChoice, ToolDescription } from '../core/domain/agent.ts';
import { type ContentItem, isToolCall, isToolResult, mediaIn, type ToolResult, writtenText } from '../core/domain/content.ts';
import { withTurns } from '../core/domain/handoffs.ts';
import { defined } from '../core/domain/json.ts';
import {
  type ConversationEvent,
  itemsFor,
  type ModelRequest,
  partsOfModelName,
  patchDangling,
  type PromptCache,
} from '../core/domain/model.ts';
import { namedNotes } from '../core/domain/notes.ts';
import { FINAL_ANSWER, textNamingMedia } from '../core/domain/tool-calls.ts';
import type { Folded } from '../core/domain/window.ts';
import { objectWith } from '../core/json-schema/json-schema.ts';
import { formattedRequest } from './reply-formats.ts';

/** A model call, as recorded in the history. */
interface CallOfModel {
  /** `provider/model`: one of the agent's models. */
  model: string;
  /** True for the final attempt after the step limit. */
  final?: boolean;
  /** True for the first call of its turn. */
  firstStep?: boolean;
  /** True if the conversation ends with an answer that the model continues. */
  paused?: boolean;
  /** The names of hosted tools that are not offered. */
  withoutHosted?: readonly string[];
  /** True if the conversation has rested for longer than providers cache it by default. */
  hasRested?: true;
}

/**
 * Returns the request of a call to one of an agent's models, from the events of its window, before anything modifies it.
 * The worker that makes the call and a reader of its history build the same.
 */
export function requestOfCall(
  snapshot: AgentSnapshot,
  events: readonly Folded[],
  { model, final = false, firstStep = false, paused = false, withoutHosted = [] }: CallOfModel,
): ModelRequest {
  const conversation = conversationOf(forModel(snapshot, events, model), model);
  const offered = (snapshot.hosted ?? []).filter(({ name }) => !withoutHosted.includes(name));
  return buildRequest({ ...askingModel(snapshot, model), hosted: offered }, conversation, final, { isFirst: firstStep, paused });
}

/** Returns the agent's snapshot with another model of its list. */
export function askingModel(snapshot: AgentSnapshot, model: string): AgentSnapshot {
  return model === snapshot.model ? snapshot : { ...snapshot, model };
}

/**
 * Returns events without their location in the record, which means nothing to a model. Provider items of an answer are kept only for the
 * model that gave it, whichever agent had it.
 */
function conversationOf(events: readonly Folded[], model: string): ConversationEvent[] {
  return events.flatMap(({ author, content, providerItems }) => {
    // A memory that was not available has no content.
    return content.length === 0 ? [] : [{ author, content, ...itemsFor(model, providerItems) }];
  });
}

/** Returns the cache key for providers: a digest that hides the run. `chain`: namespace, id and key of the run, joined by slashes. */
export function promptCache(chain: string, { name }: AgentSnapshot, { hasRested }: Pick<CallOfModel, 'hasRested'>): PromptCache {
  const key = createHash('sha256')
    .update(JSON.stringify([chain, name]))
    .digest('base64url')
    .slice(0, 32);
  return { key, ...defined({ hasRested }) };
}

/** True for an item that only a model produces. */
export function isOfModel(item: ContentItem): boolean {
  return isToolCall(item) || (item.type === 'message' && item.role === 'assistant');
}

/**
 * Returns the conversation in a form that a model of the list accepts. A provider that gets its reasoning back requires it for every call
 * since the last answer, and calls of another model have none: they are sent as text, with their results. Calls from before the model
 * had sent any reasoning stay as they were first sent. In a reply format no call is native: each is the reply that it was.
 */
function forModel(snapshot: AgentSnapshot, events: readonly Folded[], asked: string): readonly Folded[] {
  const { name, model, fallback, replyFormat } = snapshot;
  if (fallback === undefined || replyFormat !== undefined) return events;
  const lastAnswer = events.findLastIndex(({ content }) => content.some(isOfModel) && !content.some(isToolCall));
  const foreign = new Set<string>();
  let isBareRefused = fallback.returnAt === 'call';
  for (const [index, { author, content, answeredBy, providerItems }] of events.entries()) {
    isBareRefused ||= itemsFor(asked, providerItems).providerItems !== undefined;
    if (!isBareRefused || index <= lastAnswer || author !== name || (answeredBy ?? model) === asked) continue;
    for (const item of content) if (isToolCall(item)) foreign.add(item.toolCallId);
  }
  return foreign.size === 0 ? events : events.flatMap((event) => asText(event, foreign));
}

/** Returns an event with the calls of another model as text, and their results as messages. */
function asText(event: Folded, foreign: ReadonlySet<string>): Folded[] {
  const { content } = event;
  const isForeign = (item: ContentItem): boolean => item.type !== 'message' && foreign.has(item.toolCallId);
  if (!content.some(isForeign)) return [event];
  if (content.some(isToolCall)) {
    const { providerItems: _, ...rest } = event;
    const texts = content.flatMap((item) => {
      if (item.type === 'message') return [writtenText(item.content)];
      return isToolCall(item) ? [`[${item.name} was called with ${JSON.stringify(item.arguments)}]`] : [];
    });
    return [{ ...rest, content: [{ type: 'message', role: 'assistant', content: texts.filter((text) => text !== '').join('\n') }] }];
  }
  const results = content.flatMap((item) => (isToolResult(item) && isForeign(item) ? [item] : []));
  const others = content.filter((item) => !isForeign(item));
  return [
    ...(others.length === 0 ? [] : [{ ...event, content: others }]),
    { ...event, author: 'user', content: results.map(resultAsText) },
  ];
}

/** Returns a result as a message with its text, its notes, and then its media. */
function resultAsText(result: ToolResult): ContentItem {
  const said = `[${result.name} ${result.status === 'error' ? 'failed' : 'returned'}: ${textNamingMedia(result.content)}]`;
  const text = [said, ...namedNotes(result)].join('\n');
  const media = mediaIn(result);
  return { type: 'message', role: 'user', content: media.length === 0 ? text : [{ type: 'text', text }, ...media] };
}

/** The instruction for the attempt after the step limit. */
const LAST_WORDS = 'Return your best final answer now.';

/** The same for an agent that answers with code, which would no longer run. */
const LAST_WORDS_OF_CODE = 'Return your best final answer now, as text without code.';

/**
 * Builds the request of one model call from the snapshot and the conversation alone, so that it is the same on every
 * worker. The loop answers every call that it records; a call that is still unanswered gets a result here,
 * because a provider would refuse the whole conversation. `isFirst`: the call is in the first step of a turn. `paused`: the
 * conversation ends with an answer that the model continues.
 */
export function buildRequest(
  snapshot: AgentSnapshot,
  conversation: ConversationEvent[],
  final: boolean,
  { isFirst = true, paused = false } = {},
): ModelRequest {
  const { output, settings } = snapshot;
  const tools = final ? [] : offeredTools(snapshot);
  const { toolChoice: _, ...rest } = settings;
  const answered = withTurns(patchDangling(conversation), { paused });
  const request: ModelRequest = {
    model: partsOfModelName(snapshot.model).id,
    instructions: snapshot.instructions,
    conversation: final ? [...answered, lastWords(snapshot)] : answered,
    tools,
    ...(final || snapshot.hosted === undefined || snapshot.hosted.length === 0 ? {} : { hosted: snapshot.hosted }),
    ...(output?.mode === 'schema' ? { output: { name: 'answer', schema: output.providerSchema, strict: output.strict } } : {}),
    settings: {
      ...rest,
      ...(final ? { temperature: 0 } : {}),
      ...(tools.length > 0 ? { toolChoice: toolChoiceOf(snapshot, isFirst) } : {}),
    },
  };
  return formattedRequest(request, snapshot, final);
}

/**
 * Returns the tool choice for one call. A tool is required again only if the agent says so: small models would never finish.
 * An answer through `final_answer` needs a call in every step.
 */
function toolChoiceOf({ settings: { toolChoice }, output }: AgentSnapshot, isFirst: boolean): PlainToolChoice {
  const otherwise = output?.mode === 'final_answer' ? 'required' : 'auto';
  if (toolChoice === undefined) return otherwise;
  if (toolChoice === 'auto' || toolChoice === 'none') return toolChoice;
  const isDue = isFirst || (typeof toolChoice === 'object' && 'every' in toolChoice && toolChoice.every);
  if (!isDue) return otherwise;
  return typeof toolChoice === 'object' && 'tool' in toolChoice ? { tool: toolChoice.tool } : 'required';
}

/** Returns the tools that the model may call: the agent's, `run_code` if it runs code, and `final_answer` if its answer comes as a call. */
function offeredTools(snapshot: AgentSnapshot): ToolDescription[] {
  const { output } = snapshot;
  const runCode = runCodeTool(snapshot);
  return [
    ...toolsFor('model', snapshot).map(plainDescription),
    ...(runCode === undefined ? [] : [runCode]),
    ...(output?.mode === 'final_answer' ? [finalAnswerTool(output)] : []),
  ];
}

function plainDescription({ name, description, parameters, strict }: ToolDescription): ToolDescription {
  return { name, description, parameters, strict };
}

function lastWords({ replyFormat }: AgentSnapshot): ConversationEvent {
  const content = replyFormat === 'code' ? LAST_WORDS_OF_CODE : LAST_WORDS;
  return { author: 'user', content: [{ type: 'message', role: 'user', content }] };
}

/** Returns the tool that takes a structured answer if the provider cannot enforce a schema. */
function finalAnswerTool(output: OutputSnapshot): ToolDescription {
  return {
    name: FINAL_ANSWER,
    description: 'Give the final answer. Call this once you are done.',
    parameters: { ...objectWith('output', output.providerSchema), additionalProperties: false },
    strict: output.strict,
  };
}
