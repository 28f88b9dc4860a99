import type { JsonObject, JsonValue } from '../json/json.ts';
import type { DataInput, OfRun } from '../run/activity-messages.ts';
import type { StopReason, TerminalStatus } from '../run/status.ts';
import type { HookRecord } from './hook-record.ts';
import type { HookSnapshot } from './hook-snapshot.ts';

/** The part of the input of `callHooks` that does not depend on the event. */
interface HookedRun extends OfRun, DataInput {
  agentName: string;
  hooks: HookSnapshot[];
}

/** Input of `callHooks` after an agent that a call has run. */
export interface AfterAgentInput extends HookedRun {
  callId: string;
  toolName: string;
  at: [offset: number, index: number];
  eventId: string;
  /** Absent: they are too large for the input. */
  arguments?: JsonObject;
  /** A hook rewrote them. */
  rewritten?: true;
  /** The name of the agent, and the run that it acted in. */
  agent: string;
  childRunId: string;
  isError: boolean;
  /** The result. Absent: it is too large for the input, and the activity queries it from the run. */
  content?: JsonValue[];
  /** The most bytes of JSON of the result. */
  maxBytes: number;
}

/** Input of `callHooks` at the end of a run. The output is not part of it: the activity queries it from the run. */
export interface AtEndInput extends HookedRun {
  status: TerminalStatus;
  stopReason: StopReason;
}

/** Result of `callHooks`: the answers, and the result of the call if they changed it. */
export interface CallHooksOutput {
  hooks: HookRecord[];
  result?: { content: JsonValue[]; isError: boolean };
}
