import { type ContentItem, isToolCall, outputText, type ToolCall } from '../domain/content.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonValue } from '../domain/json.ts';
import type { LimitReached } from '../domain/limits.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { Event } from '../domain/record.ts';
import type { RunResultFields } from '../domain/result.ts';
import { limitStatus, type StopReason, type TerminalStatus } from '../domain/run.ts';
import { FINAL_ANSWER, type FinishReason } from '../domain/tool-calls.ts';
import type { AnswerVerdict } from '../domain/verdicts.ts';
import type { ToolOutcome } from './ports.ts';
import type { RunState } from './run-state.ts';

// Shared state: the position of the loop between two phases.

/** The ending of a run: the fields of its result that are not in the record. */
export interface Ending {
  status: TerminalStatus;
  stopReason: StopReason;
  output: JsonValue;
  error?: { code: string; message: string };
  /** The finish reason of the answer, if an agent that the run started gave it. Default: the last step's. */
  finishReason?: FinishReason;
  /** The checks of the answer of an `ask` with tools. */
  verdict?: AnswerVerdict;
  /** The output is an answer that has passed its checks. */
  checked?: true;
  /** Further fields of the result, from the capability that ended the run. */
  parts?: Partial<RunResultFields>;
}

/** An answer that ends a run. */
export interface Answered extends Pick<Ending, 'output' | 'verdict' | 'finishReason'> {
  /** True for the attempt after the step limit. */
  final: boolean;
}

/** The calls of a response once all of them have ended, and the outcome of each by index. */
export interface EndedCalls {
  state: RunState;
  calls: readonly ToolCall[];
  outcomes: readonly (ToolOutcome | null)[];
}

/** The response that requests calls, and the run that executes them. */
export interface ToolBatchContext {
  state: RunState;
  response: RecordedResponse;
  calls: ToolCall[];
  /** The offset of the event that holds the calls. */
  offset: number;
  /** True for the attempt after the step limit. */
  final: boolean;
  /** The maker of the calls, if it is not a model. */
  caller?: Event['caller'];
  /** True if the response ends the run: no other agent takes over. */
  isLast?: boolean;
}

/** The ending of a run by the results of calls, or an answer, which may have to be checked. */
export type CallsEnd = Ending | Omit<Answered, 'final'>;

/** The position of the loop: plain data, so that a run can continue from it in another execution. */
export type Position =
  /** `shortened`: the same call failed because the conversation was too long. It has been shortened since, if that was possible. */
  /** `paused`: the last answer was incomplete, and the model continues it. */
  | { type: 'call_model'; final: boolean; shortened?: true; paused?: true }
  /** `outcomes`: the outcomes of the calls that have ended, by their index in the response. */
  | {
      type: 'run_tools';
      response: RecordedResponse;
      final: boolean;
      outcomes: (ToolOutcome | null)[];
      /** An approver has refused to raise the limit of tool calls for this response. */
      limitRefused?: true;
      /** A call exceeded the limit and has an error as its outcome. The limit ends the run once all calls have outcomes. */
      overLimit?: true;
      /** Present if the calls are made by the phase of another call, which continues with their results. */
      within?: PhasePosition;
    }
  | PhasePosition;

/** The position of a run: of the loop in a turn, or between two turns. */
export type RunPosition = Position | { type: 'idle' };

/** The position of the loop in a call that is not an activity and has a separate phase, run by a capability. */
export interface PhasePosition {
  type: 'run_phase';
  phase: string;
  /** The calls of the response that contains the call. */
  tools: ToolsPosition;
  /** The index of the call in the response. */
  index: number;
  /** The milliseconds that the call has taken. Absent before it begins. */
  spentMs?: number;
}

/** The position of the loop among the calls of a response. */
export type ToolsPosition = Extract<Position, { type: 'run_tools' }>;

/** The position of the loop at the beginning of a step. */
export type CallPosition = Extract<Position, { type: 'call_model' }>;

/** The position of the loop at the beginning of a step, or among the calls of a step. */
export type StepPosition = Exclude<Position, PhasePosition>;

/** The next step of the loop. Each phase returns one: the type is the set of legal successors. */
export type NextStep =
  | Position
  /** The history of this execution is full: the run continues from `position` in the next. */
  | { type: 'continue'; position: Position }
  /** The answer is checked before it counts. */
  | { type: 'check_output'; answered: Answered }
  | { type: 'finish'; ending: Ending };

// Closing: the ways in which a run ends.

/** The step of the loop that ends a run. */
type Finish = Extract<NextStep, { type: 'finish' }>;

/** Ends a cancelled run with the best partial answer as output. */
export function endCancelled(state: RunState): Finish {
  return { type: 'finish', ending: { status: 'cancelled', stopReason: 'cancelled', output: partialAnswer(state) } };
}

/** Returns the newest recorded text of the model: a partial answer that was given up, or the text of the last step that has one. */
export function partialAnswer({ partial, thought }: Pick<RunState, 'partial' | 'thought'>): string {
  return partial ?? thought;
}

/** Ends a run with an error. Every recorded step is kept. */
export function endFailed(state: RunState, code: ErrorCode, message: string): Finish {
  return { type: 'finish', ending: { status: 'error', stopReason: 'error', output: state.thought, error: { code, message } } };
}

/**
 * Ends a run at a limit. The output is the thought of the last step, if it has one; after a failed final attempt, the best partial answer.
 */
export function endAtLimit(state: RunState, stopReason: LimitReached['stopReason'] = 'step_limit'): Finish {
  const { lastStep } = state;
  const output = lastStep?.final ? state.thought : (lastStep?.thought ?? '');
  return { type: 'finish', ending: { status: limitStatus(stopReason), stopReason, output } };
}

// Shared state: the answer in a response.

/**
 * Returns the answer of a step: its text, or its value if an output schema is declared. Undefined if the answer does not have the declared
 * form.
 */
export function answerOf(
  { content, output, problems = {} }: Pick<RecordedResponse, 'content' | 'output' | 'problems'>,
  declared: { output?: object },
): JsonValue | undefined {
  if (output?.type === 'parsed') return output.value;
  const text = thoughtOf(content) ?? '';
  if (declared.output === undefined) return text;
  if (output === undefined || output.type === 'problem') return undefined;
  const calls = content.filter(isToolCall);
  if (calls.length === 0) return JSON.parse(text) as JsonValue;
  const answer = calls.find(({ name, toolCallId }) => name === FINAL_ANSWER && !Object.hasOwn(problems, toolCallId));
  return answer?.arguments['output'] ?? null;
}

// Shared state: the text of a response.

/** Returns the text of a model response, or null if it has no text. */
export function thoughtOf(content: ContentItem[]): string | null {
  const texts = content.filter((item) => item.type === 'message').map((message) => outputText(message.content));
  return texts.join('\n') || null;
}
