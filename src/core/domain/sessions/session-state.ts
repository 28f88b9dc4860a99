import type { JsonValue } from '../json/json.ts';
import type { LimitChanges, RunLimits } from '../agent/limits.ts';
import type { RunOverrides } from '../run/overrides.ts';
import type { RunResultFields } from '../run/result.ts';
import type { SessionInput } from './session-input.ts';

/** The amounts that turns have used. */
export type SpentByTurns = Pick<
  RunResultFields,
  'stepsUsed' | 'usage' | 'toolCallsTotal' | 'toolCallsByName' | 'toolCallsNotRun' | 'below'
>;

/** The state of a session beside that of its present turn: plain data, carried into the next execution. */
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

/** The settings of a session that override those of its agent. */
export interface SessionOverrides extends RunOverrides {
  limits?: LimitChanges;
}

/** The beginning of a turn. */
export interface TurnBeginning {
  /** 1-based. */
  number: number;
  /** The number of steps of the session before it. */
  stepsBefore: number;
}

/** The result of a turn: that of a run, from its message to its answer. */
export interface TurnResultFields extends Omit<RunResultFields, 'steps'> {
  /** 1-based. */
  turn: number;
  /** The step of the session with which the turn began. 1-based. */
  firstStep: number;
  /** The ids of accepted messages that the turn ended without reading: the next turn answers them. Absent if there are none. */
  unanswered?: string[];
}
