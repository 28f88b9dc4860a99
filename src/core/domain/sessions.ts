import type { ErrorCode } from './errors.ts';
import type { JsonValue } from './json.ts';
import { type LimitChanges, type RunLimits, SESSION_LIMIT_VALUES } from './limits.ts';
import { type RunResultFields, SPENT_MEMBERS } from './result.ts';
import type { RunOverrides, SessionInput } from './run-input.ts';
import * as s from './shape.ts';
import { addRunUsage } from './usage.ts';

export type { CloseInput, CloseReceipt, InterruptInput, InterruptReceipt, RefreshReceipt, ResetReceipt } from './requests.ts';

/** The amounts that turns have used. */
export interface SpentByTurns extends s.ObjectOf<typeof SPENT_MEMBERS> {}

/** The state of a session besides that of its present turn: plain data, carried into the next execution. */
export interface SessionState extends SessionInput {
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The number of turns that have begun. */
  turns: number;
  /** The amounts that the turns which have ended have used. */
  spent: SpentByTurns;
  /** The output of the last turn, if that is not the newest text of the model. */
  output?: JsonValue;
  /** The current turn. Absent between two turns. */
  turn?: TurnBeginning;
  /** The number of turns that had begun at the last compaction. */
  compactedAt: number;
  /** The words with which the provider refused the last request. Absent once a model has answered. */
  refusal?: string;
  /** The end of the last turn, in milliseconds since the epoch. Absent before the first. */
  idleSince?: number;
  /** The overrides of the start, for an agent that is resolved again. */
  overrides?: SessionOverrides;
  /** The limits of a turn, if those of the current turn, or else of the next one, have been raised. */
  unraised?: RunLimits;
  /** The agent is resolved again before the next turn. */
  refreshDue?: true;
  /** The conversation is emptied before the next turn. */
  resetDue?: true;
  /** A turn has given an answer since the last call for a title, which the session still lacks. */
  titleDue?: true;
  /** The number of model calls that were begun for a title. */
  titleCalls?: number;
  /** The title is that of a model call, and not of a caller. */
  titled?: true;
  /** The session began with a message to answer, and its first turn has not begun. */
  opens?: true;
}

/** The name of the state of a session among the slices of its run. */
export const SESSION = 'session';

/** Returns the state of the session that a run, or its carried state, is; undefined for a run that ends with its answer. */
export function sessionOf({ slices }: { slices?: Record<string, unknown> }): SessionState | undefined {
  return slices?.[SESSION] as SessionState | undefined;
}

/** The name of the results of turns among the slices of a run. */
export const TURNS = 'turns';

/** Returns the results of the turns that have ended in this execution. */
export function endedTurns({ slices }: { slices?: Record<string, unknown> }): readonly TurnResultFields[] {
  return (slices?.[TURNS] as TurnResultFields[] | undefined) ?? [];
}

/** The settings of a session that override those of its agent. */
export interface SessionOverrides extends RunOverrides {
  limits?: LimitChanges;
}

interface TurnBeginning {
  /** 1-based. */
  number: number;
  /** The number of steps of the session before it. */
  stepsBefore: number;
}

export const TURN_MEMBERS = {
  /** 1-based. */
  turn: s.NUMBER,
  /** The step of the session with which the turn began. 1-based. */
  firstStep: s.NUMBER,
  /** The ids of accepted messages that the turn ended without reading: the next turn answers them. Absent if there are none. */
  unanswered: s.optional(s.listOf(s.TEXT)),
};

/** The result of a turn: that of a run, from its message to its answer. */
export interface TurnResultFields extends Omit<RunResultFields, 'steps'>, s.ObjectOf<typeof TURN_MEMBERS> {}

/** A request to interrupt the current turn. */
export interface TurnInterrupt {
  turn: number;
  cancelReason?: string;
}

export interface CloseRequest {
  /** The caller's name, as claimed and not verified. */
  by: string | null;
}

const LIMIT_REACHED = s.object({
  /** The limit that the session has reached. */
  limit: s.shape<'turns' | 'totalTokens' | 'costUsd' | 'deadline'>(s.TEXT),
  /** For a person to read: `10 of 10 turns are used`. */
  message: s.TEXT,
});

/** A limit that a session has reached. */
export interface SessionLimitReached extends s.ValueOf<typeof LIMIT_REACHED> {}

const VIEW_MEMBERS = {
  /** The title of the session. Absent until it has one. */
  title: s.optional(s.TEXT),
  /** The number of turns that have begun. */
  turns: s.NUMBER,
  /** The number of the current turn. Absent while the session is idle. */
  turn: s.optional(s.NUMBER),
  /** The amounts of all turns; those besides this field are of the newest turn. */
  spent: s.object(SPENT_MEMBERS),
  /** The limits of the whole session. */
  limits: SESSION_LIMIT_VALUES,
  /** The limit that is reached: messages are refused until it is raised. Absent if there is none. The first if there are several. */
  limitReached: s.optional(LIMIT_REACHED),
  /** ISO 8601: the end of the last turn. Absent before the first. */
  idleSince: s.optional(s.TIMESTAMP),
};

/** The part of the `status` of a session that runs which end with their answer do not have. */
export interface SessionView extends s.ObjectOf<typeof VIEW_MEMBERS> {}
export const SESSION_VIEW: s.Shape<SessionView> = s.object(VIEW_MEMBERS);

/** Argument of the `turn` query. */
export interface TurnQuestion {
  /** 1-based. Default: the newest that has ended. */
  turn?: number;
}

/** Answer of the `turn` query. */
export interface TurnView {
  version: 1;
  /** The number of turns that have begun. */
  turns: number;
  /** The number of the current turn. Absent while the session is idle. */
  running?: number;
  /** The number of the first turn whose result this execution of the session has: earlier ones are in the histories before it. */
  firstTurn: number;
  /** Absent if the turn has not ended, or if this execution does not have it. */
  result?: TurnResultFields;
}

/** The tokens and the cost of a session, as its limits count them. */
interface SessionTotals {
  tokens: number;
  /** US dollars. */
  cost: number;
}

/** Adds up the tokens and the cost of turns: with those of the descendants, and with estimates. */
export function sessionTotals({ usage: own, descendants }: Pick<SpentByTurns, 'usage' | 'descendants'>): SessionTotals {
  const usage = descendants === undefined ? own : addRunUsage(own, descendants.usage);
  return {
    tokens: usage.totalTokens + (usage.estimated?.totalTokens ?? 0),
    cost: (usage.costUsd ?? 0) + (usage.estimated?.costUsd ?? 0),
  };
}

/** The outcome of reading a message that the run which keeps the session has left in its call. */
export type MessageContent =
  | { type: 'read'; content: string }
  | { type: 'failed'; code: ErrorCode; message: string }
  | { type: 'cancelled' };
