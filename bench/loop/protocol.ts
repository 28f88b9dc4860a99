import type { AssistantMessage, PageCall } from '../script/scripted-run.ts';

/** A message of the conversation, in the form of Chat Completions. */
export type LoopMessage = { role: 'user'; content: string } | AssistantMessage | { role: 'tool'; tool_call_id: string; content: string };

/** A message of the conversation, with the id of its event. */
export interface LoopEvent {
  id: string;
  message: LoopMessage;
}

/** The conversation of a call: the first `through` events. The last one has the id `lastId`. */
export interface Reference {
  through: number;
  lastId: string;
}

/** Input of the model activity. The prompt is not the result of an activity, so it is in the input of the first call. */
export type AskModelInput = Reference & { fresh?: LoopEvent[] };

/** Input of the tool activity: the call is in the last event. */
export type ReadPageInput = Reference & { call: PageCall };

/** The workflow type of the hand-written loop. */
export const PAGE_LOOP = 'pageLoop';

/** The query for the events from an offset on. */
export const EVENTS_QUERY = 'events';

/** The workflow type of the loop by value. */
export const VALUE_LOOP = 'valueLoop';

/** The activities of the loop by value, by their activity types. */
export interface ValueActivities {
  /** An input with the whole conversation. */
  askModel(conversation: LoopMessage[]): Promise<AssistantMessage>;
  read_page(call: PageCall): Promise<string>;
}
