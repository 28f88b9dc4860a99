import type { JsonValue } from '../../core/domain/json.ts';
import { type CompletedRun, EndedRun, type RunResultJson, type UnfinishedRun } from '../../core/domain/result.ts';
import type { TurnResultFields } from '../../core/domain/sessions.ts';

/** The place of a turn in its session. */
interface OfSession {
  /** 1-based. */
  readonly turn: number;
  /** The step of the session with which the turn began. 1-based. */
  readonly firstStep: number;
  /** The ids of accepted messages that the turn ended without reading: the next turn answers them. Absent if there are none. */
  readonly unanswered?: readonly string[];
}

/** The result of a turn: a RunResult of what happened between a message and its answer. */
export type TurnResult<Output = JsonValue, Unfinished = Output | string> = (CompletedRun<Output> | UnfinishedRun<Unfinished>) & OfSession;

class EndedTurn<Output> extends EndedRun<Output> implements OfSession {
  readonly turn: number;
  readonly firstStep: number;
  readonly unanswered?: readonly string[];

  constructor(fields: TurnResultFields & { output: Output }) {
    super(fields);
    this.turn = fields.turn;
    this.firstStep = fields.firstStep;
    if (fields.unanswered !== undefined) this.unanswered = fields.unanswered;
  }

  /** Returns the JSON form, including the derived fields and the place in the session. */
  override toJSON(): RunResultJson<Output> & OfSession {
    const { turn, firstStep, unanswered } = this;
    return { ...super.toJSON(), turn, firstStep, ...(unanswered === undefined ? {} : { unanswered }) };
  }
}

/** Makes the result of a turn from its fields. */
export const TurnResult = EndedTurn as new <Output = JsonValue, Unfinished = Output | string>(
  fields: TurnResultFields,
) => TurnResult<Output, Unfinished>;
