import { type ContentItem, isToolCall, type ToolResult } from '../content/content.ts';
import type { ConversationEvent } from '../model/model.ts';
import { INTERRUPTED_CALL } from '../content/tool-text.ts';

/** A call that a result may answer. */
interface AskedCall {
  id: string;
  name: string;
}

/** The way in which a conversation holds calls and results. */
interface Notation<Entry> {
  /** The calls that an entry asks for, in its order. */
  callsIn: (entry: Entry) => readonly AskedCall[];
  /** The ids of the calls that an entry answers. */
  answeredBy: (entry: Entry) => readonly string[];
  /** True for an entry that has results alone. */
  isOfResults: (entry: Entry) => boolean;
  /** Makes the entries that tell of calls of an entry that they were interrupted. */
  interrupted: (calls: readonly AskedCall[], asking: Entry) => Entry[];
}

/**
 * Adds a result for every call that has none, because providers refuse a conversation with an unanswered call. The added result
 * says that the call was interrupted. It stands right after the entry of the call and the results that follow that entry. A call
 * without an id cannot be answered and stays unchanged. A conversation without such calls is returned unchanged, so patching
 * twice has the effect of patching once.
 */
export function withMissingResults<Entry>(conversation: Entry[], notation: Notation<Entry>): Entry[] {
  const { callsIn, answeredBy, isOfResults, interrupted } = notation;
  const answered = new Set(conversation.flatMap(answeredBy));
  const patched: Entry[] = [];
  let missing: Entry[] = [];
  for (const entry of conversation) {
    if (!isOfResults(entry)) patched.push(...missing.splice(0));
    patched.push(entry);
    const calls = callsIn(entry).filter((call) => isDangling(call, answered));
    if (calls.length > 0) missing = interrupted(calls, entry);
  }
  patched.push(...missing);
  return patched.length === conversation.length ? conversation : patched;
}

/** True for a call that no result answers yet. Of two calls with the same id, only the first is. */
function isDangling({ id }: AskedCall, answered: Set<string>): boolean {
  if (id === '' || answered.has(id)) return false;
  answered.add(id);
  return true;
}

/** Adds a result for every call of a conversation that has none. */
export function patchDangling(conversation: ConversationEvent[]): ConversationEvent[] {
  return withMissingResults(conversation, {
    callsIn: ({ content }) => content.filter(isToolCall).map(({ toolCallId, name }) => ({ id: toolCallId, name })),
    answeredBy: ({ content }) => content.filter(isToolResult).map(({ toolCallId }) => toolCallId),
    isOfResults: ({ content }) => content.every(isToolResult),
    interrupted: (calls, { author }) => [{ author, content: calls.map(interruptedResult) }],
  });
}

function interruptedResult({ id, name }: AskedCall): ToolResult {
  return { type: 'tool_result', toolCallId: id, name, status: 'error', content: [INTERRUPTED_CALL] };
}

function isToolResult(item: ContentItem): item is ToolResult {
  return item.type === 'tool_result';
}
