import { HOSTED_CALL, isMediaPart, partText, SPILLED_CONTENT } from './content.ts';
import { ANSWER_ORIGIN_MEMBERS } from './fallback.ts';
import type { JsonValue } from './json.ts';
import { RECORD_PARTS } from './parts.ts';
import * as s from './shape.ts';
import { counted, withoutEnd } from './text.ts';
import { USAGE_STATS } from './usage.ts';

/** The reason why the model stopped: `stop`, `tool_calls`, `length`, `content_filter`, `refusal`, or the provider's own word. */
export type FinishReason = string;

/** True if the model did not end its answer itself: it was cut off, or the provider reports another reason. */
export function isCutOff(finishReason: FinishReason | undefined): boolean {
  return finishReason !== undefined && finishReason !== 'stop' && finishReason !== 'tool_calls';
}

/** Returns a sentence for the reader of an answer that was cut off. */
export function cutNote(finishReason: FinishReason): string {
  const what = finishReason === 'length' ? 'was cut off' : 'may not be whole';
  return `[The answer ${what}: the model ended it with the finish reason "${finishReason}".]`;
}

const VERIFIED_MEMBERS = {
  /** True if the call took effect. */
  happened: s.FLAG,
  /** How the answer was lost, which is why the tool was asked. */
  reason: s.TEXT,
};

/** The report of a tool about a call whose answer was lost. */
export interface Verified extends s.ObjectOf<typeof VERIFIED_MEMBERS> {}
const VERIFIED: s.Shape<Verified> = s.object(VERIFIED_MEMBERS);

/** Creates the record of a call that has not been answered yet: empty result, no error, no duration. */
export function newToolCallRecord(toolName: string, callId: string, timestamp: string): ToolCallRecord {
  return { toolName, callId, arguments: {}, result: '', isError: false, durationMs: null, timestamp };
}

/** Creates a step with the defaults: no thought, calls or usage, finished by `stop`. */
export function newStep(step: number): StepResult {
  return { step, thought: null, toolCalls: [], usage: null, finishReason: 'stop' };
}

export function hasToolCalls(step: StepResult): boolean {
  return step.toolCalls.length > 0;
}

/**
 * The reasons why a call did not run, as worded in summaries. `refused`: a person, a rule or a check said no. `answered`: a person gave the
 * result. `unknown`: the tool does not exist. `invalid`: the arguments do not fit. `not_started`: the run ended or was steered elsewhere
 * before, a limit had no room for it, or nothing implements the tool.
 */
export const NOT_RUN = {
  refused: 'refused',
  answered: 'answered by a person',
  unknown: 'unknown',
  invalid: 'invalid',
  not_started: 'not started',
} as const;

/** The reason why a call did not run. @useDeclaredType */
export type NotRun = keyof typeof NOT_RUN;

const REASONS = Object.keys(NOT_RUN) as NotRun[];

/** The number of calls that did not run, by reason and tool name. */
export type CallsNotRun = Partial<Record<NotRun, Record<string, number>>>;
export const CALLS_NOT_RUN = s.shape<CallsNotRun>({
  type: 'object',
  properties: Object.fromEntries(REASONS.map((reason) => [reason, s.recordOf(s.NUMBER)])),
});

const FACT_MEMBERS = {
  /** The version of the tool in this run. Absent: none. */
  toolVersion: s.optional(s.TEXT),
  /** The capability that provides the tool. Absent: the agent defines it itself. */
  capability: s.optional(s.TEXT),
  /** Present if the call did not run: its result says why. */
  notRun: s.optional(s.oneOf(...REASONS)),
  /** Present if the call's answer was lost, and `result` is the tool's report. */
  verified: s.optional(VERIFIED),
  /** The child run that the call started, if its tool is an agent. */
  childRunId: s.optional(s.TEXT),
  ...RECORD_PARTS,
};

/** The facts about a call besides the call itself and its result. All are absent until the call has a record. */
export const CALL_FACT_MEMBERS = {
  ...FACT_MEMBERS,
  /** Milliseconds from start to end of the tool. Null: it never started, or the time is unknown. */ durationMs: s.optional(
    s.orNull(s.NUMBER),
  ),
};

interface CallFacts extends s.ObjectOf<typeof CALL_FACT_MEMBERS> {}

const CALL_MEMBERS = {
  /** The name of the tool. */
  toolName: s.TEXT,
  /** The id of the call. */
  callId: s.TEXT,
  /** The arguments it was called with. */
  arguments: s.JSON_OBJECT,
  /** The result as text: text blocks joined by line breaks, other values as JSON; the bare message for an error. */
  result: s.TEXT,
  /** True if the result is an error. */
  isError: s.FLAG,
  /** Milliseconds from start to end of the tool, or null if it never started or the time is unknown. */
  durationMs: s.orNull(s.NUMBER),
  /** The time when the result was recorded, ISO 8601. */
  timestamp: s.TIMESTAMP,
  /** The location of the whole result, if `result` is only its preview. */
  spilled: s.optional(SPILLED_CONTENT),
  /** The call was made by code that the model wrote. */
  caller: s.optional(s.fixed('code')),
  ...FACT_MEMBERS,
};

/** Returns the facts in a call's record besides the call itself and its result. */
export function callFacts(record: ToolCallRecord): CallFacts {
  const facts = Object.entries(record).filter(([name]) => Object.hasOwn(CALL_FACT_MEMBERS, name));
  return Object.fromEntries(facts);
}

/** One tool call of a step, executed or not. */
export interface ToolCallRecord extends s.ObjectOf<typeof CALL_MEMBERS> {}
export const TOOL_CALL_RECORD: s.Shape<ToolCallRecord> = s.object(CALL_MEMBERS);

const STEP_MEMBERS = {
  /** 1-based. */
  step: s.NUMBER,
  /** The agent that acted. Only in runs that may have several agents. */
  agent: s.optional(s.TEXT),
  ...ANSWER_ORIGIN_MEMBERS,
  /** The text of the model's answer, or null if it had none. */
  thought: s.orNull(s.TEXT),
  /** The calls of the step, executed or not, including calls made by its code. Empty if there are none. */
  toolCalls: s.listOf(TOOL_CALL_RECORD),
  /** The tokens and costs of its model call; null if the provider did not report them. */
  usage: s.orNull(USAGE_STATS),
  /** `tool_calls` for every step with tool calls; otherwise the provider's value. */
  finishReason: s.TEXT,
  /** True on the optional final attempt after the step limit. */
  final: s.optional(s.TRUE),
  /** The provider's warnings about the request, such as ignored settings. */
  warnings: s.optional(s.listOf(s.TEXT)),
  /** The calls that the provider ran itself: at most 20. They are not tool calls of the run. */
  hosted: s.optional(s.listOf(HOSTED_CALL)),
  // Notes about the request and the response.
  ...RECORD_PARTS,
};

/** One think-act cycle: exactly one completed model call and the tool calls that it requested. */
export interface StepResult extends s.ObjectOf<typeof ANSWER_ORIGIN_MEMBERS>, s.ObjectOf<typeof STEP_MEMBERS> {}
export const STEP_RESULT: s.Shape<StepResult> = s.object(STEP_MEMBERS);

/** The calls of a run: those that its tools executed, and those that did not run. */
export interface CallCounts {
  toolCallsTotal: number;
  toolCallsByName: Record<string, number>;
  toolCallsNotRun?: CallsNotRun | undefined;
}

/** Returns the number of calls that the model requested. */
export function requestedCalls({ toolCallsTotal, toolCallsNotRun = {} }: Omit<CallCounts, 'toolCallsByName'>): number {
  const notRun = Object.values(toolCallsNotRun).flatMap((byName) => Object.values(byName));
  return notRun.reduce((sum, calls) => sum + calls, toolCallsTotal);
}

/** The formatting of a text about calls. */
interface CallsForm {
  /** The sign before a number of calls. */
  times: string;
  /** The text if there are no calls. */
  none?: string;
  /** The noun after the total, for any number; none if empty. Default: `tool call` or `tool calls`. */
  unit?: string;
  name?: (name: string) => string;
}

/** Describes all calls: `2 tool calls (look_up ×2), 1 refused (refund)`. */
export function callsText({ toolCallsTotal, toolCallsByName, toolCallsNotRun }: CallCounts, { none, unit, ...form }: CallsForm): string {
  const names = namesText(toolCallsByName, form, 1) || none;
  const number = unit === undefined ? counted(toolCallsTotal, 'tool call') : `${toolCallsTotal} ${unit}`.trimEnd();
  const total = `${number}${names === undefined ? '' : ` (${names})`}`;
  return [total, ...notRunTexts(toolCallsNotRun, form)].join(', ');
}

/** Describes the calls that did not run, one text per reason: `1 refused (refund)`. */
export function notRunTexts(notRun: CallsNotRun = {}, form: Omit<CallsForm, 'none' | 'unit'>): string[] {
  return REASONS.flatMap((reason) => {
    const byName = notRun[reason] ?? {};
    const total = Object.values(byName).reduce((sum, calls) => sum + calls, 0);
    return total === 0 ? [] : [`${total} ${NOT_RUN[reason]} (${namesText(byName, form, 2)})`];
  });
}

/** Formats names with their numbers of calls, showing numbers from `from` on. */
function namesText(
  byName: Record<string, number>,
  { times, name = (given) => given }: Omit<CallsForm, 'none' | 'unit'>,
  from: number,
): string {
  return Object.entries(byName)
    .map(([given, calls]) => (calls < from ? name(given) : `${name(given)}${times}${calls}`))
    .join(', ');
}

/** Returns the sum of two counts of calls that did not run. Undefined if both are empty. */
export function addNotRun(one: CallsNotRun | undefined, other: CallsNotRun | undefined): CallsNotRun | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const sum: CallsNotRun = {};
  for (const reason of REASONS) {
    // A map, because models invent names such as `__proto__`.
    const byName = new Map(Object.entries(one[reason] ?? {}));
    for (const [name, calls] of Object.entries(other[reason] ?? {})) byName.set(name, (byName.get(name) ?? 0) + calls);
    if (byName.size > 0) sum[reason] = Object.fromEntries(byName);
  }
  return sum;
}

/** The name of the tool through which the model gives a structured answer if the provider cannot enforce a schema. */
export const FINAL_ANSWER = 'final_answer';

/** The name of the tool through which the model runs code. */
export const RUN_CODE = 'run_code';

/**
 * Returns the id of the `run_code` call whose cell made a call, or undefined for a model's call, whose id has a different form
 * (`codeCallId`).
 */
export function cellOfCall(callId: string): string | undefined {
  return /^(.+)\.[0-9]+$/.exec(callId)?.[1];
}

/**
 * The name of the call that represents an answer without the required form. No tool has this name: the call never runs, and its result
 * tells the model what is wrong.
 */
export const UNUSABLE_REPLY = 'unusable_reply';

/** The result of a call that never ran because the run was interrupted. */
export const INTERRUPTED_CALL = 'Tool call was interrupted and not executed. Please retry if needed.';

/** Returns the result of a call of an unknown tool. */
export function unknownTool(name: string): string {
  return `Tool '${name}' not found in agent's tool list`;
}

/** Returns the result of a call of a tool that is only a schema. */
export function notExecutable(name: string): string {
  return `Tool '${name}' is not executable: nothing implements it. Go on without its result.`;
}

/** The result of a call that exceeds the limits. */
export const OVER_CALL_LIMIT = 'Tool call was not executed: the limit of tool calls of this run is reached.';

/** Returns the result of a call that a person has rejected. */
export function rejectedCall(reason: string | undefined): string {
  const rejected = 'User denied the tool execution.';
  return reason === undefined ? rejected : `${rejected} Reason: ${reason}`;
}

/** The result of a call that was running when the run was cancelled: it was told to stop, and the run did not wait for it. */
export const RUNNING_CALL = 'Tool call was running when the run was cancelled; its outcome is unknown.';

/** The result of a call that the deadline of the run gave up. */
export const CALL_AT_DEADLINE = 'Tool call was running at the deadline of the run; its outcome is unknown.';

/** Returns the result of a call that no worker could make. */
export function noWorkerHas(name: string): string {
  return `Tool '${name}' is not executable: no worker has it at the moment.`;
}

/** Returns a tool result as text: its values joined by line breaks, non-text values as JSON. */
export function resultText(content: JsonValue[]): string {
  return content.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');
}

/** Returns a tool result as text for a model. Media are only named: their bytes are useless as text. */
export function textNamingMedia(content: JsonValue[]): string {
  return resultText(content.map((value) => (isMediaPart(value) ? partText(value) : value)));
}

/** The beginning of the result of a call whose answer was lost. */
const outcomeIsUnknown = (name: string): string => `The outcome of this call of '${name}' is unknown: `;

/** True for the record of a call that may have taken effect, because its answer was lost. */
export function hasUnknownOutcome({ toolName, result, isError }: Pick<ToolCallRecord, 'toolName' | 'result' | 'isError'>): boolean {
  return isError && result.startsWith(outcomeIsUnknown(toolName));
}

/** Returns the result of a call that may have taken effect, because its answer was lost. `lost` says how. */
export function unknownOutcome(name: string, lost: string): string {
  return `${outcomeIsUnknown(name)}it was started, and its answer was lost (${lost}). It may have taken effect. It was not tried again. Find out before you call it again.`;
}

/** Returns the result of a call whose answer was lost and that, according to its tool, did not happen. */
export function notHappened(name: string): string {
  return `This call of '${name}' did not happen: its answer was lost, and the tool found no effect of it. You may call it again.`;
}

/** Describes for people what a tool reported about a call whose answer was lost. */
export function verifiedText({ happened, reason }: Verified): string {
  return `verified: it ${happened ? 'happened' : 'did not happen'} (its answer was lost: ${reason})`;
}

const TRY_AGAIN = '\nPlease try again.';

/** Returns the result of a call whose tool asks the model to try again. */
export function tryAgain(message: string): string {
  return `${message}${TRY_AGAIN}`;
}

/** Returns the result of a call whose tool has used up its requests to try again. */
export function noRetriesLeft(name: string, retries: number, message: string): string {
  const times = retries === 1 ? 'once' : `${retries} times`;
  const reason = withoutEnd(message.replace(TRY_AGAIN, ''), '. \t\r\n');
  return `Tool '${name}' failed, and has no retries left (it asked ${retries === 0 ? 'for none' : times}): ${reason}. Try another way.`;
}

/** Formats a number of attempts: `1 attempt`, `3 attempts`. */
export function attemptsText(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}

/** The failure type of an attempt of a call whose time was up, if another attempt may follow. */
export const TOOL_TIMEOUT = 'tool_timeout';
