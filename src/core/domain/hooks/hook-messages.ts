import type { ApprovalRequirement } from '../approvals/approval.ts';
import type { ContentItem } from '../content/content.ts';
import type { GuardrailReport } from '../guardrails/guardrail.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { DataInput, OfRun } from '../run/activity-messages.ts';
import type { StopReason, TerminalStatus } from '../run/status.ts';
import type { CallReview, HookRecord } from './hook-record.ts';
import type { HookSnapshot } from './hook-snapshot.ts';

/** The part of the input of `callHooks` that does not depend on the event. */
interface HookedRun extends OfRun, DataInput {
  agentName: string;
  hooks: HookSnapshot[];
}

/** Input of `callHooks` before the calls of a response start. The calls are not part of it: the activity queries them from the run. */
export interface BeforeCallsInput extends HookedRun {
  /** Digest of the snapshot. */
  agent: string;
  /** The id of the event of the calls. */
  beforeCallsOf: string;
}

/** Answer of the `hookedCalls` query: the response, with the arguments that its calls have by now. */
export interface HookedCalls {
  content: ContentItem[];
  problems?: Record<string, string>;
  approvals?: Record<string, ApprovalRequirement>;
}

/** Result of `callHooks` before calls: all problems and all decisions, and what else is new. */
export interface ReviewedCalls extends CallReview {
  approvals?: Record<string, ApprovalRequirement>;
  /** The checks of the calls by guardrails, if one did not simply pass, or a check has used a model. */
  guardrails?: GuardrailReport;
}

/** Input of `callHooks` after a call. */
export interface AfterCallInput extends HookedRun {
  callId: string;
  toolName: string;
  at: [offset: number, index: number];
  eventId: string;
  /** Absent: they are too large for the input. */
  arguments?: JsonObject;
  /** A hook rewrote them. */
  rewritten?: true;
  /** The agent that the call has run, and its run. */
  child?: { agent: string; runId: string };
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

/** Result of `callHooks` after a call, and at the end of a run: the answers, and the result of the call if they changed it. */
export interface CallHooksOutput {
  hooks: HookRecord[];
  result?: { content: JsonValue[]; isError: boolean };
}
