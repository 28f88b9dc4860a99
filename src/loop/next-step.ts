import type { JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/recorded-response.ts';
import type { StopReason, TerminalStatus } from '../domain/run-status.ts';

/** How a run ends: what the closing result says beyond what was recorded. */
export interface Ending {
  status: TerminalStatus;
  stopReason: StopReason;
  output: JsonValue;
  error?: { code: string; message: string };
}

/** What the loop does next. Each phase returns one of these: the type is the set of legal successors. */
export type NextStep =
  | { type: 'call_model'; final: boolean }
  | { type: 'run_tools'; response: RecordedResponse; final: boolean }
  | { type: 'finish'; ending: Ending };
