import type { HookRecord } from '../hooks/hook-record.ts';
import type { SpilledContent } from '../content/content.ts';
import type { JsonObject } from '../json/json.ts';
import type { UsageStats } from '../model/usage.ts';
import type { NotRun } from './calls-not-run.ts';

/** The reason why the model stopped: `stop`, `tool_calls`, `length`, `content_filter`, `refusal`, or the provider's own word. */
export type FinishReason = string;

/** True if the model did not end its answer by itself: it was cut off, or the provider has a word of its own for it. */
export function endedEarly(finishReason: FinishReason | undefined): boolean {
  return finishReason !== undefined && finishReason !== 'stop' && finishReason !== 'tool_calls';
}

/** Returns the sentence that says so of an answer, for whoever reads it. */
export function cutNote(finishReason: FinishReason): string {
  const what = finishReason === 'length' ? 'was cut off' : 'may not be whole';
  return `[The answer ${what}: the model ended it with the finish reason "${finishReason}".]`;
}

/** The report of a tool about a call whose answer was lost. */
export interface Verified {
  /** True if the call took effect. */
  happened: boolean;
  /** The way in which the answer was lost, which is why the tool was asked. */
  reason: string;
}

/** One tool call of a step, executed or not. */
export interface ToolCallRecord {
  toolName: string;
  /** The version of the tool in this run. Absent: it has none. */
  toolVersion?: string;
  callId: string;
  arguments: JsonObject;
  /** The result as text: text blocks joined by line breaks, other values as JSON; the bare message for an error. */
  result: string;
  isError: boolean;
  /** Present if the call did not run: `result` says why. */
  notRun?: NotRun;
  /** Milliseconds from start to end of the tool, or null if it never started or the time is unknown. */
  durationMs: number | null;
  /** The time of recording the result, ISO 8601. */
  timestamp: string;
  /** The location of the whole result, if `result` is only its preview. */
  spilled?: SpilledContent;
  /** The call was made by code that the model wrote. */
  caller?: 'code';
  /** Present if the answer of the call was lost, and `result` is the report of its tool. */
  verified?: Verified;
  /** The run that the call has started as a child, if its tool is an agent. */
  childRunId?: string;
  /** The answers of hooks about the call. `arguments` are those that it ran with; those of the model are in the event. */
  hooks?: HookRecord[];
}

/** One think-act cycle: exactly one completed model call and the tool calls that it asked for. */
export interface StepResult {
  /** 1-based. */
  step: number;
  /** The agent that acted. Only in runs that several agents may act in. */
  agent?: string;
  /** The text of the model's answer, or null if it had none. */
  thought: string | null;
  toolCalls: ToolCallRecord[];
  usage: UsageStats | null;
  /** `tool_calls` for every step with tool calls; otherwise the provider's value. */
  finishReason: FinishReason;
  /** True on the optional final attempt after the step limit. */
  final?: true;
  /** The answers of hooks about the request and the response. */
  hooks?: HookRecord[];
}

/** Makes the record of a call that has not been answered yet: empty result, no error, no duration. */
export function newToolCallRecord(toolName: string, callId: string, timestamp: string): ToolCallRecord {
  return { toolName, callId, arguments: {}, result: '', isError: false, durationMs: null, timestamp };
}

/** Makes a step with the defaults: no thought, no calls, no usage, finished by `stop`. */
export function newStep(step: number): StepResult {
  return { step, thought: null, toolCalls: [], usage: null, finishReason: 'stop' };
}

/** True if the model called tools in this step. */
export function hasToolCalls(step: StepResult): boolean {
  return step.toolCalls.length > 0;
}
