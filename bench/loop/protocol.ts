import type { AssistantMessage, PageCall } from '../scripted-run.ts';

/** A message of the conversation, as Chat Completions has it. */
export type LoopMessage = { role: 'user'; content: string } | AssistantMessage | { role: 'tool'; tool_call_id: string; content: string };

/** A message of the conversation, with the id of the event that it is. */
export interface LoopEvent {
  id: string;
  message: LoopMessage;
}

/** Which conversation is meant: the first `through` events, the last of which has `lastId`. */
export interface Reference {
  through: number;
  lastId: string;
}

/** Input of the model activity. The prompt, which no activity has made, travels with the first call. */
export type AskModelInput = Reference & { fresh?: LoopEvent[] };

/** Input of the tool activity: the call is the last event's. */
export type ReadPageInput = Reference & { call: PageCall };

/** The workflow type of the hand-written loop. */
export const PAGE_LOOP = 'pageLoop';

/** The query that answers the events from an offset on. */
export const EVENTS_QUERY = 'events';
