import { summaryModelsOf } from '../../src/core/domain/agent.ts';
import { type ContentItem, outputText } from '../../src/core/domain/content.ts';
import { cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { defined } from '../../src/core/domain/json.ts';
import { namedNotes } from '../../src/core/domain/notes.ts';
import { textNamingMedia } from '../../src/core/domain/tool-calls.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { type ModelRequest, partsOfModelName } from '../../src/core/domain/model.ts';
import type { ActivityNotes } from '../../src/core/domain/parts.ts';
import type { Window, WindowEvent } from '../../src/core/domain/window.ts';
import type { SummarizeInput, SummarizeOutput, Summary } from '../../src/core/protocol.ts';
import { contextTokens } from '../../src/model/models.ts';
import { preparedByParts, requireModelCalls } from '../all-parts.ts';
import { callContext } from '../governor/governed-call.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { activityCall, modelSpans } from '../telemetry/call-spans.ts';
import { askModel, modelActivity } from './ask-model.ts';
import { type AskedModel, priceInList } from './fallback.ts';
import type { Patience } from './patience.ts';

/** Creates the activity that summarizes the older part of a conversation, or gives it a title, by one model call. */
export function summarizeActivity(runtime: ActivityRuntime): (input: SummarizeInput) => Promise<SummarizeOutput> {
  return modelActivity((input, patience) => summarize(runtime, input, patience));
}

async function summarize(runtime: ActivityRuntime, input: SummarizeInput, patience: Patience): Promise<SummarizeOutput> {
  const snapshot = await runtime.snapshots.load(input, input.agent);
  patience.bind(snapshot.timing);
  const isTitle = input.purpose === 'title';
  if (!isTitle) requireModelCalls(runtime, snapshot, 'summary');
  const window = await runtime.conversations.window(input, input);
  const events = between(window, input);
  let notes: ActivityNotes = {};
  const prepare = async (built: ModelRequest, signal: AbortSignal): Promise<ModelRequest> => {
    if (isTitle) return built;
    const purpose = { type: 'summary', events: events.length } as const;
    const prepared = await preparedByParts({ runtime, run: input, snapshot, signal }, purpose, built);
    notes = prepared.notes;
    return prepared.request;
  };
  const names = summaryModelsOf(snapshot);
  const models = names.map((name): AskedModel => {
    const client = runtime.registry.provider(name);
    const tokens = contextTokens(name, client.capabilities);
    const request = isTitle ? titleRequest(name, events, tokens) : summaryRequest(name, events, { tokens, maxBytes: input.maxBytes });
    return { name, client, request, prepare, ...priceInList(snapshot, name) };
  });
  const asked = { models, policy: names.length > 1 ? snapshot.fallback : undefined };
  const traced = { run: input, agentName: snapshot.name, prices: snapshot.prices, call: activityCall(), through: input.through };
  const beginSpan = runtime.telemetry && (await modelSpans(runtime.telemetry, traced));
  const outcome = await askModel(
    runtime.aborts,
    { asked, beginSpan, patience, ...callContext(runtime, input, snapshot) },
    ({ answer: { content, usage }, eventId, model, origin: { answeredBy } }): Summary => {
      if (content.trim() === '') throw new LonghaulError('model_bad_response', `Model "${model}" gave an empty summary`);
      const text = cutText(content.toWellFormed(), input.maxBytes);
      return { id: eventId, text, usage, ...defined({ answeredBy }), ...notes };
    },
  );
  // A partial summary must not enter the conversation.
  if (outcome.type === 'aborted')
    return outcome.partial === undefined ? outcome : { ...outcome, partial: { ...outcome.partial, content: [] } };
  const { result, failedAttempts } = outcome;
  return { ...result, ...defined({ failedAttempts }) };
}

/** Returns the events of the window between two kept events. */
function between({ events }: Window, { head, tail }: SummarizeInput): WindowEvent[] {
  const from = events.findIndex(({ offset }) => offset === head) + 1;
  const to = tail === null ? events.length : events.findIndex(({ offset }) => offset === tail);
  return events.slice(from, to);
}

const INSTRUCTIONS =
  'You compress the older part of a conversation between a user and an agent that uses tools, so that the agent can continue without it. ' +
  'Write down what was asked, what was done and found out, the facts, names, numbers and decisions that may still be needed, and what is left to do. ' +
  'Do not address anybody, do not add anything.';

/** The maximum bytes of one item. The smaller limits apply in turn while all items together are too large. */
const ITEM_BYTES = [20_000, 5_000, 1_000, 200];

/** Bytes of conversation for each token of the model's context: text has about four, and the answer needs room too. */
const BYTES_PER_TOKEN = 3;

const MOST_WORDS = 1_000;
const LEAST_WORDS = 20;
const BYTES_PER_WORD = 8;

interface SummaryBounds {
  /** The size of the model's context in tokens. */
  tokens: number;
  /** The maximum bytes of the summary. */
  maxBytes: number;
}

/**
 * Builds the request for a summary only from the events, so that it is the same on every worker. The conversation is quoted as text,
 * because not every provider accepts calls of unoffered tools. If it is too large, its longest items are cut, so that its end is included.
 */
export function summaryRequest(model: string, events: WindowEvent[], { tokens, maxBytes }: SummaryBounds): ModelRequest {
  const words = Math.max(LEAST_WORDS, Math.min(MOST_WORDS, Math.floor(maxBytes / BYTES_PER_WORD)));
  const quoted = `The conversation:\n\n${quoteEvents(events, tokens * BYTES_PER_TOKEN)}\n\nSummarize it.`;
  return {
    model: partsOfModelName(model).id,
    instructions: [`${INSTRUCTIONS} At most ${words} words.`],
    conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: quoted }] }],
    tools: [],
    settings: {},
  };
}

const TITLE_INSTRUCTIONS =
  'You give a conversation between a user and an agent a title for a list: what it is about, in at most eight words, in the language of the user. ' +
  'Answer with the title alone, without quotation marks.';

/** Builds the request for the title of a conversation in the same way. */
function titleRequest(model: string, events: WindowEvent[], tokens: number): ModelRequest {
  const request = summaryRequest(model, events, { tokens, maxBytes: 0 });
  const quoted = `The conversation:\n\n${quoteEvents(events, tokens * BYTES_PER_TOKEN)}\n\nGive it a title.`;
  const content: ContentItem[] = [{ type: 'message', role: 'user', content: quoted }];
  return { ...request, instructions: [TITLE_INSTRUCTIONS], conversation: [{ author: 'user', content }] };
}

function quoteEvents(events: WindowEvent[], budget: number): string {
  let text = '';
  for (const bytes of ITEM_BYTES) {
    text = events.flatMap(({ author, content }) => content.flatMap((item) => quoteLines(author, item, bytes))).join('\n');
    if (jsonBytes(text) <= budget) break;
  }
  return cutText(text, budget);
}

function quoteLines(author: string, item: ContentItem, bytes: number): string[] {
  switch (item.type) {
    case 'message':
      return [`${author}: ${cutText(outputText(item.content), bytes)}`];
    case 'tool_call':
      return [`${author} calls ${item.name}(${cutText(JSON.stringify(item.arguments), bytes)})`];
    case 'tool_result':
      return [
        `${item.name} ${item.status === 'error' ? 'failed' : 'returned'}: ${cutText(textNamingMedia(item.content), bytes)}`,
        ...namedNotes(item).map((note) => cutText(note, bytes)),
      ];
  }
}
