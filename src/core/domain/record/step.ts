import type { SpilledContent } from '../content/content.ts';
import type { JsonObject } from '../json/json.ts';
import type { UsageStats } from '../model/usage.ts';

/** Why the model stopped: `stop`, `tool_calls`, `length`, `content_filter`, `refusal`, or the provider's own word. */
export type FinishReason = string;

/** How the outcome of a call is known whose answer was lost: its tool was asked what became of it. */
export interface Verified {
  /** What the tool said: the call took effect, or it did not. */
  happened: boolean;
  /** Why it was asked: how the answer was lost. */
  reason: string;
}

/** One executed (or refused) tool call of a step (seed 001). */
export interface ToolCallRecord {
  toolName: string;
  callId: string;
  arguments: JsonObject;
  /** The result as text: text blocks joined by line breaks, other values as JSON; the bare message for an error. */
  result: string;
  isError: boolean;
  /** Milliseconds from start to end of the tool, or null where it never started or nobody knows. */
  durationMs: number | null;
  /** ISO 8601, when the result was recorded. */
  timestamp: string;
  /** Where the whole result is, where `result` is its preview. */
  spilled?: SpilledContent;
  /** The answer of the call was lost, and `result` is what its tool found out. */
  verified?: Verified;
}

/** One think-act cycle: exactly one completed model call and the tool calls it asked for (seed 001). */
export interface StepResult {
  /** 1-based. */
  step: number;
  /** The text of the model's answer, or null where it had none. */
  thought: string | null;
  toolCalls: ToolCallRecord[];
  usage: UsageStats | null;
  /** `tool_calls` for every step with tool calls; otherwise the provider's value. */
  finishReason: FinishReason;
  /** True on the optional final attempt after the step limit. */
  final?: true;
}

/** A call that has not been answered yet: empty result, no error, no duration (the defaults of seed 001). */
export function newToolCallRecord(toolName: string, callId: string, timestamp: string): ToolCallRecord {
  return { toolName, callId, arguments: {}, result: '', isError: false, durationMs: null, timestamp };
}

/** A step with the defaults of seed 001: no thought, no calls, no usage, finished by `stop`. */
export function newStep(step: number): StepResult {
  return { step, thought: null, toolCalls: [], usage: null, finishReason: 'stop' };
}

/** True where the model asked for tools in this step. */
export function hasToolCalls(step: StepResult): boolean {
  return step.toolCalls.length > 0;
}
