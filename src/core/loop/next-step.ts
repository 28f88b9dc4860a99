// Shared state: the position of the loop between two phases.

import type { JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { AnswerVerdict } from '../domain/verdicts.ts';
import type { FinishReason } from '../domain/tool-calls.ts';
import type { StopReason, TerminalStatus } from '../domain/run.ts';
import type { GuardrailTrip } from '../domain/guardrails.ts';
import type { ToolOutcome } from './ports.ts';

/** The ending of a run: the fields of its result that are not in the record. */
export interface Ending {
  status: TerminalStatus;
  stopReason: StopReason;
  output: JsonValue;
  error?: { code: string; message: string };
  /** The finish reason of the answer, if it is that of an agent that the run has started. Default: that of the last step. */
  finishReason?: FinishReason;
  /** The checks of the answer of an `ask` with tools. */
  verdict?: AnswerVerdict;
  /** The guardrail that ended the run. */
  guardrail?: GuardrailTrip;
  /** The output is an answer that passed the guardrails of the agent. */
  checked?: true;
}

/** An answer that ends a run. */
export interface Answered extends Pick<Ending, 'output' | 'verdict' | 'finishReason'> {
  /** True for the attempt after the step limit. */
  final: boolean;
}

/** The position of the loop: plain data, so that a run can go on from it in another execution. */
export type Position =
  /** `shortened`: the same call failed because the conversation was too long, and the conversation was compacted since. */
  | { type: 'call_model'; final: boolean; shortened?: true }
  /** `outcomes`: the outcomes of the calls that have ended, by their index among the calls of the response. */
  | {
      type: 'run_tools';
      response: RecordedResponse;
      final: boolean;
      outcomes: (ToolOutcome | null)[];
      /** An approver has refused to raise the limit of tool calls for this response. */
      limitRefused?: true;
      /** A call was over the limit and has an error as its outcome. The limit ends the run once all calls have their outcomes. */
      overLimit?: true;
      /** Present if code makes the calls: its cell, which goes on with their results. */
      cell?: CellPosition;
    }
  | CellPosition;

/** The position of a run: of the loop in a turn, or of a session between two turns. */
export type RunPosition = Position | { type: 'idle' };

/** The position of the loop in a cell: its next segment runs. */
export interface CellPosition {
  type: 'run_cell';
  /** The calls of the response that the cell is one of. */
  tools: ToolsPosition;
  /** The index of the cell among them. */
  index: number;
  /** Milliseconds that its segments have taken. Absent before the first one. */
  spentMs?: number;
}

/** The position of the loop among the calls of a response. */
export type ToolsPosition = Extract<Position, { type: 'run_tools' }>;

/** The position of the loop at the beginning of a step, or among the calls of one. */
export type StepPosition = Exclude<Position, CellPosition>;

/** The next step of the loop. Each phase returns one: the type is the set of legal successors. */
export type NextStep =
  | Position
  /** The history of this execution is full: the run goes on from `position` in the next. */
  | { type: 'continue'; position: Position }
  /** Guardrails check the answer before it counts. */
  | { type: 'check_output'; answered: Answered }
  | { type: 'finish'; ending: Ending };
