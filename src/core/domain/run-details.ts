import type { AgentSnapshot } from './agent.ts';
import { APPROVAL_VIEW, DECISION } from './approvals.ts';
import { SPILLED_CONTENT } from './content.ts';
import { TERMINAL_STATUS } from './run.ts';
import * as s from './shape.ts';
import { CALL_FACT_MEMBERS } from './tool-calls.ts';

const PINNED_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The offset that was asked for. Absent: the agent is the one that acts now. */
  offset: s.optional(s.NUMBER),
  /** Instructions, tools with their schemas, settings, limits and so on, and their digest. */
  snapshot: s.anyObject<AgentSnapshot>(),
};

/** The agent of a run as it is pinned, at a place of the record. */
export interface PinnedAgent extends s.ObjectOf<typeof PINNED_MEMBERS> {}
export const PINNED_AGENT: s.Shape<PinnedAgent> = s.object(PINNED_MEMBERS);

const CALL_RESULT = s.object({
  /** `success` or `error`. */
  status: s.TEXT,
  content: s.ANY_LIST,
  /** The location of the whole result, if `content` is only its preview. */
  spilled: s.optional(SPILLED_CONTENT),
  /** The offset of the event that records it. */
  offset: s.NUMBER,
  /** The time of recording it, ISO 8601. */
  at: s.TIMESTAMP,
});

const CALL_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The id of the call. */
  callId: s.TEXT,
  /** The name of the tool. */
  toolName: s.TEXT,
  /** The agent whose model has made the call. */
  agentName: s.TEXT,
  /** The step that the call belongs to. Absent until the step is complete. */
  step: s.optional(s.NUMBER),
  /** The offset of the event with the call. */
  offset: s.NUMBER,
  /** ISO 8601. */
  requestedAt: s.TIMESTAMP,
  /** The call was made by code that the model wrote. */
  caller: s.optional(s.fixed('code')),
  /** The tool as the run is pinned to it. Absent: the agent has no tool of that name. */
  description: s.optional(s.TEXT),
  /** The JSON Schema of the arguments. */
  schema: s.optional(s.JSON_OBJECT),
  /** The kind of effect that the tool has. */
  category: s.optional(s.TEXT),
  /** The arguments as the model wrote them, whole. */
  arguments: s.JSON_OBJECT,
  /** The arguments that it ran with, if others have been put in the place of those. */
  ranWith: s.optional(s.JSON_OBJECT),
  /** Present while the call waits for a decision, with the whole arguments that the decision is about: a gate may have changed those of the model. */
  waiting: s.optional(APPROVAL_VIEW),
  /** The decisions about the call, in their order. */
  decisions: s.listOf(DECISION),
  /** Absent while the call has no result. */
  result: s.optional(CALL_RESULT),
  ...CALL_FACT_MEMBERS,
};

/** One call of a run, with everything that is recorded about it. */
export interface CallDetails extends s.ObjectOf<typeof CALL_FACT_MEMBERS>, s.ObjectOf<typeof CALL_MEMBERS> {}
export const CALL_DETAILS: s.Shape<CallDetails> = s.object(CALL_MEMBERS);

const TURN_MEMBERS = {
  /** 1-based. */
  turn: s.NUMBER,
  /** Absent: the turn continues. */
  status: s.optional(TERMINAL_STATUS),
  /** Why the turn ended. Absent while it runs. */
  stopReason: s.optional(s.TEXT),
  /** The code and the message of a turn that failed. Absent unless it failed. */
  error: s.optional(s.TEXT),
  /** ISO 8601. */
  startTime: s.TIMESTAMP,
  /** When it ended, as ISO 8601 in UTC. Absent while it runs. */
  endTime: s.optional(s.TIMESTAMP),
  /** The offset of its first event. */
  firstOffset: s.NUMBER,
  /** The number of its events so far. */
  events: s.NUMBER,
  /** The number of steps that are complete. */
  steps: s.NUMBER,
  /** The tokens of its model calls, with estimates. */
  tokens: s.NUMBER,
  /** The beginning of the message that it answers. */
  question: s.optional(s.TEXT),
  /** The beginning of the newest text of the model. */
  answer: s.optional(s.TEXT),
};

/** A turn of a session in a list. */
export interface TurnEntry extends s.ObjectOf<typeof TURN_MEMBERS> {}
export const TURN_ENTRY: s.Shape<TurnEntry> = s.object(TURN_MEMBERS);

/** A page of the turns of a session, the oldest first. `next` is the first turn of the next page. */
export interface TurnsPage {
  /** The id of the session. */
  sessionId: string;
  /** The turns of this page. */
  turns: TurnEntry[];
  /** The number of the first turn of the next page. Absent on the last one. */
  next?: number;
}
