// Shared state: the position of the loop between two phases.

import type { JsonValue } from '../domain/json/json.ts';
import type { RecordedResponse } from '../domain/model/recorded-response.ts';
import type { StopReason, TerminalStatus } from '../domain/run/run-status.ts';
import type { ToolOutcome } from './ports.ts';

/** How a run ends: what the closing result says beyond what was recorded. */
export interface Ending {
  status: TerminalStatus;
  stopReason: StopReason;
  output: JsonValue;
  error?: { code: string; message: string };
}

/** Where the loop stands: plain data, so that a run can go on from here in another execution. */
export type Position =
  /** `shortened`: the same call has failed because the conversation was too long, and has been compacted since. */
  | { type: 'call_model'; final: boolean; shortened?: true }
  /** `outcomes`: of the calls that have ended already, by their place among the calls of the response. */
  | {
      type: 'run_tools';
      response: RecordedResponse;
      final: boolean;
      outcomes: (ToolOutcome | null)[];
      /** Somebody was asked to raise the limit of tool calls for this response, and said no. */
      limitRefused?: true;
      /** The limits had no room for a call that has its outcome already: they end the run once all have theirs. */
      overLimit?: true;
    };

/** Where the loop stands among the calls of a response. */
export type ToolsPosition = Extract<Position, { type: 'run_tools' }>;

/** What the loop does next. Each phase returns one of these: the type is the set of legal successors. */
export type NextStep =
  | Position
  /** The history of this execution is full: the run goes on from `position` in the next. */
  | { type: 'continue'; position: Position }
  | { type: 'finish'; ending: Ending };
