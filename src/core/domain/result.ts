import { type ContentPart, mediaTypes, outputText } from './content.ts';
import type { GuardrailTrip } from './guardrails.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import { LIMIT_VALUES } from './limits.ts';
import { RECORD_PARTS } from './parts.ts';
import type { UnitResult } from './program-run.ts';
import { eventsText, isLimitStatus, NOT_ARCHIVED, type StopReason, TERMINAL_STATUS, type TerminalStatus } from './run.ts';
import * as s from './shape.ts';
import { counted } from './text.ts';
import { CALLS_NOT_RUN, callsText, isCutOff, STEP_RESULT } from './tool-calls.ts';
import type { ExecutionTrace, ExecutionTraceJson } from './trace.ts';
import { addRunUsage, AGGREGATED_USAGE, type AggregatedUsage, type SpentByDescendants } from './usage.ts';
import type { AnswerVerdict } from './verdicts.ts';

/** The output of an agent without an output schema: text, or a list of parts if it contains media. */
export type DefaultOutput = string | ContentPart[];

/** The amounts used by a run, or by the turns of a session. */
export const SPENT_MEMBERS = {
  /** The number of completed steps. */
  stepsUsed: s.NUMBER,
  /** Tokens and costs of all model calls. */
  usage: AGGREGATED_USAGE,
  /** The number of calls that tools executed, whether they succeeded or not. */
  toolCallsTotal: s.NUMBER,
  /** The same by tool name, in the order of first use. */
  toolCallsByName: s.recordOf(s.NUMBER),
  /** The number of calls that did not run, by reason (`refused`, `answered`, …) and tool name. Absent if all calls ran. */
  toolCallsNotRun: s.optional(CALLS_NOT_RUN),
  /** The amounts used by the descendants of this run, if it started any. They are not included in the counts above. */
  descendants: s.optional(s.anyObject<SpentByDescendants>()),
};

const FIELDS = {
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The id of the run. */
  runId: s.TEXT,
  /** The name of the started agent or program. */
  agentName: s.TEXT,
  /** The answer; the best partial answer if the run did not complete. */
  output: s.shape<unknown>(s.ANY_JSON),
  /** How the run ended: `completed`, `max_iterations_reached`, `limit_reached`, `error` or `cancelled`. */
  status: TERMINAL_STATUS,
  /** What ended the run, more precise than the status: for example, it names the limit. */
  stopReason: s.shape<StopReason>(s.TEXT),
  /**
   * Why the model ended its last answer: `stop`, `tool_calls`, `length` if it was cut off, or the provider's own word. Absent if the run
   * recorded no step, and for programs.
   */
  finishReason: s.optional(s.TEXT),
  ...SPENT_MEMBERS,
  /** ISO 8601; null in a result without a run. */
  startTime: s.orNull(s.TIMESTAMP),
  /** ISO 8601; null in a result without a run. */
  endTime: s.orNull(s.TIMESTAMP),
  /** Seconds from its start to its end, including all waiting; null in a result without a run. */
  durationSeconds: s.orNull(s.NUMBER),
  /** The code and message of a failed run; null otherwise. */
  error: s.orNull(s.TEXT),
  /** The code of the error table, for status `error`. */
  errorCode: s.optional(s.TEXT),
  /** The caller's reason for cancelling the run. */
  cancelReason: s.optional(s.TEXT),
  /** The limits at the end of the run: set by its agent and its start, and raised by callers. */
  limits: LIMIT_VALUES,
  /** The number of turns, if the run is a session. */
  turns: s.optional(s.NUMBER),
  /** Events that are not in the archive because storing them failed. */
  notArchived: s.optional(s.listOf(NOT_ARCHIVED)),
  /** The checks of the answer, if the run is an `ask` with tools: the step failed if they found a violation. */
  verdict: s.optional(s.anyObject<AnswerVerdict>()),
  /** The agent that acted last, if the run was handed over. */
  lastAgent: s.optional(s.TEXT),
  /** The usage of each agent, in the order of their first turns, if the run was handed over. */
  usageByAgent: s.optional(s.recordOf(AGGREGATED_USAGE)),
  // Notes about the start and end of the run.
  ...RECORD_PARTS,
  /** The guardrail that ended the run, for stop reason `guardrail`. */
  guardrail: s.optional(s.anyObject<GuardrailTrip>()),
};

const STEPS = {
  /** The steps. They are not in the closing event; a result has them if they were requested with `result({steps: true})`. */
  steps: s.optional(s.listOf(STEP_RESULT)),
};

const OF_PROGRAM = {
  /** The units, if the run executes a program. */
  units: s.optional(s.listOf(s.anyObject<UnitResult>())),
  /** True: units were left out to fit into the closing event. */
  unitsCut: s.optional(s.TRUE),
};

/** The result of a run at the end of its stream, without the steps, which the stream has already shown, and without derived members. */
export const STREAMED_RESULT = s.object({ ...FIELDS, ...OF_PROGRAM });

/** The members of a result as JSON. */
export const RESULT_MEMBERS = {
  ...FIELDS,
  ...STEPS,
  /** The usage of the run and all its descendants. Absent if it started none, and for a program: then it equals `usage`. */
  treeUsage: s.optional(AGGREGATED_USAGE),
  /** True if the status is `completed`. */
  success: s.FLAG,
  /** The output as text: the texts of parts, the JSON of an object. */
  outputText: s.TEXT,
  /** True if the output contains images, audio, video or files. */
  hasMedia: s.FLAG,
  /** The kinds of content in the output, each once. */
  mediaTypes: s.listOf(s.TEXT),
  /** The run's limit of steps. */
  maxIterations: s.described(s.NUMBER, 'The same as `limits.steps`.'),
};

/** The members of any run's result, including a program's. */
export const ANY_RESULT_MEMBERS = { ...RESULT_MEMBERS, ...OF_PROGRAM };

/** The fields of a RunResult as plain JSON. The closing event of a run does not contain `steps`, so that content is stored once. */
export interface RunResultFields<Output = JsonValue>
  extends s.ObjectOf<typeof FIELDS>, s.ObjectOf<typeof STEPS>, s.ObjectOf<typeof OF_PROGRAM> {
  /** The answer; the best partial answer if the run did not complete. */
  output: Output;
  /** True: `output` was cut to fit into the closing event. The client replaces it with the whole output. */
  outputTruncated?: true;
}

/** The parts of a result that a reader must request: they are in the record of the run. */
export interface RequestedParts {
  /** The deps at the end of the run, if they were requested with `result({deps: true})`. */
  deps?: JsonObject;
  /** The state set by tools, at the end of the run, if it was requested with `result({state: true})`. */
  state?: JsonObject;
  /** The trace of the run, if it was requested with `result({trace: true})`. */
  trace?: ExecutionTrace;
  /** The span of the run in the operator's traces, if it was requested with `result({traceContext: true})`. */
  traceContext?: TraceContext;
}

/** A span in the operator's traces (docs/telemetry.md), as identified by a `traceparent`. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
}

/** A RunResult as JSON: its fields and the values derived from them. */
export interface RunResultJson<Output = JsonValue> extends s.ObjectOf<typeof RESULT_MEMBERS>, Omit<RequestedParts, 'trace'> {
  output: Output;
  /** The trace of the run, if it was requested with `result({trace: true})`. */
  trace?: ExecutionTraceJson;
}

/** True for the fields of a RunResult, as Temporal returns them. */
export function isRunResult(value: unknown): value is RunResultFields {
  return isJsonObject(value) && typeof value['runId'] === 'string' && typeof value['status'] === 'string' && isJsonObject(value['usage']);
}

/**
 * The result of a run, however it ended. If `status` is `completed`, and thus `success` is true, `output` is the answer. Otherwise it is of
 * type `Unfinished`: the last thought as text, or the answer of the final attempt if the agent has `finalAttempt`.
 */
export type RunResult<Output = DefaultOutput, Unfinished = Output | string> = CompletedRun<Output> | UnfinishedRun<Unfinished>;

/** The result of a run that completed. */
export type CompletedRun<Output = DefaultOutput> = EndedRun<Output> & { readonly status: 'completed'; readonly success: true };

/** The result of a run that ended at a limit, with an error, or by a cancellation. */
export type UnfinishedRun<Unfinished = string> = EndedRun<Unfinished> & {
  readonly status: Exclude<TerminalStatus, 'completed'>;
  readonly success: false;
};

/** The data members of every result. */
type ResultData<Output> = Omit<RunResultFields<Output>, keyof s.ObjectOf<typeof OF_PROGRAM> | 'outputTruncated'> & RequestedParts;

/** The same members as readable properties: an optional one is undefined if missing. */
type Readable<Data> = { readonly [Key in keyof Data]-?: object extends Pick<Data, Key> ? Data[Key] | undefined : Data[Key] };

const PLAIN: unknown = Object;

const DATA_NAMES: ReadonlySet<string> = new Set([...Object.keys({ ...FIELDS, ...STEPS }), 'deps', 'state', 'trace', 'traceContext']);

function dataOf<Output>(result: object): ResultData<Output> {
  return Object.fromEntries(Object.entries(result).filter(([name]) => DATA_NAMES.has(name))) as ResultData<Output>;
}

/** A base class with the members of that data: a class can inherit them from a type in no other way. */
const WithData = PLAIN as new <Output>() => Readable<ResultData<Output>>;

/** The fields and methods of every result. */
export class EndedRun<Output> extends WithData<Output> {
  /** Ignores members that are not data of a result: JSON may also contain derived values. */
  constructor(fields: RunResultFields<Output>, parts: RequestedParts = {}) {
    super();
    Object.assign(this, dataOf<Output>({ ...fields, ...parts }));
  }

  /** The usage of the run and all its descendants. */
  get treeUsage(): AggregatedUsage {
    return this.descendants === undefined ? this.usage : addRunUsage(this.usage, this.descendants.usage);
  }

  /** True only for status `completed`: limits, errors and cancellations are not a success. */
  get success(): boolean {
    return this.status === 'completed';
  }

  /** The output as text: media parts as `[Image: WxH]`, `[Audio: format]`, `[Video: format]`, objects as JSON. */
  get outputText(): string {
    return outputText(this.output);
  }

  /** The kinds of content in the output, sorted, including `text`. */
  get mediaTypes(): string[] {
    return mediaTypes(this.output);
  }

  /** True if the output contains media. */
  get hasMedia(): boolean {
    return this.mediaTypes.some((type) => type !== 'text');
  }

  /**
   * Summarizes the result in one line: `[completed] bot | 2/10 steps | 3 tool calls (searchx2, calcx1) | 150 tokens | 2.50s`. Calls that
   * did not run follow: `1 tool calls (lookupx1), 1 refused (refund)`.
   */
  summary(): string {
    const line = [
      `[${this.status}] ${this.agentName}`,
      ...this.progress(),
      // The unit is always plural, as in the framework that the line comes from, because programs parse it.
      callsText(this, { times: 'x', none: 'none', unit: 'tool calls' }),
      `${this.usage.totalTokens} tokens${this.#estimated()}`,
      this.#duration(),
    ];
    if (isCutOff(this.finishReason)) line.push(`finish: ${this.finishReason}`);
    if (this.hasMedia) line.push(`media: ${this.mediaTypes.join('+')}`);
    return line.join(' | ');
  }

  /** Formats the result in several lines: run, agent, status, steps, tools, tokens, duration, output (120 characters), error. */
  override toString(): string {
    const { totalTokens, promptTokens, completionTokens } = this.usage;
    const lines = [
      `Run:      ${this.runId}`,
      `Agent:    ${this.agentName}`,
      `Status:   ${this.status}${isLimitStatus(this.status) ? ` (${this.stopReason})` : ''}`,
      ...this.progressLines(),
      `Tools:    ${callsText(this, { times: 'x', unit: '' })}`,
      `Tokens:   ${totalTokens} (prompt=${promptTokens}, completion=${completionTokens})${this.#estimated()}`,
      `Duration: ${this.#duration()}`,
      `Output:   ${beginning(this.outputText, 120)}`,
    ];
    if (isCutOff(this.finishReason)) lines.push(`Finish:   ${this.finishReason}`);
    if (this.error !== null) lines.push(`Error:    ${this.error}`);
    if (this.cancelReason !== undefined) lines.push(`Reason:   ${this.cancelReason}`);
    if (this.notArchived !== undefined) lines.push(`Archive:  lacks ${this.notArchived.map(eventsText).join(', ')}`);
    return lines.join('\n');
  }

  /** Returns the JSON form, including the derived fields. */
  toJSON(): RunResultJson<Output> {
    const { trace, ...data } = dataOf<Output>(this);
    return {
      ...data,
      ...defined({ trace: trace?.toJSON(), treeUsage: this.descendants && this.treeUsage }),
      maxIterations: this.limits.steps,
      success: this.success,
      outputText: this.outputText,
      hasMedia: this.hasMedia,
      mediaTypes: this.mediaTypes,
    };
  }

  /** Returns the progress parts of the summary. */
  protected progress(): string[] {
    if (this.turns !== undefined) return [counted(this.turns, 'turn'), counted(this.stepsUsed, 'step')];
    return [`${this.stepsUsed}/${this.limits.steps} steps`];
  }

  /** Returns the same as separate lines. */
  protected progressLines(): string[] {
    if (this.turns !== undefined) return [`Turns:    ${this.turns}`, `Steps:    ${this.stepsUsed}`];
    return [`Steps:    ${this.stepsUsed}/${this.limits.steps}`];
  }

  /** Formats the usage that no provider reported, which is not included in the other counts. */
  #estimated(): string {
    const { estimated } = this.usage;
    return estimated === undefined ? '' : ` + ${estimated.totalTokens} estimated`;
  }

  /** Formats a duration of 0 as n/a: it was not measured. */
  #duration(): string {
    return this.durationSeconds ? `${this.durationSeconds.toFixed(2)}s` : 'n/a';
  }
}

/** Creates a result from its fields. */
export const RunResult = EndedRun as new <Output = DefaultOutput>(
  fields: RunResultFields<Output>,
  parts?: RequestedParts,
) => RunResult<Output>;

/** Returns the first `length` characters without splitting one. */
function beginning(text: string, length: number): string {
  const characters = Array.from(text.slice(0, 2 * (length + 1)));
  return characters.length > length ? `${characters.slice(0, length).join('')}...` : text;
}

/** A ProgramResult as JSON: its fields and the values derived from them. */
export interface ProgramResultJson<Output = JsonValue> extends RunResultJson<Output> {
  /** One entry per unit of the program, in order. */
  units: UnitResult[];
  /** True if the units are too large for a result and some are left out: `handle.units()` returns all. */
  unitsCut?: true;
}

/**
 * The result of a program, however it ended: the members of every run's result, and the results of the units. If `status` is `completed`,
 * `output` is the program's output; otherwise it is the current value of the program's `output`, or null.
 *
 * `summary()` is one line: `[error] triage | units: 2 completed, 1 failed | steps: 4 completed, 1 reused, 1 failed | 7 attempts | 6 model
 * calls | 0 tool calls (none) | 150 tokens | 2.50s`. The steps of ended `forEach` items are not included in the steps and attempts; their
 * calls and tokens are.
 */
export class ProgramResult<Output = JsonValue> extends EndedRun<Output | null> {
  /** One entry per unit of the program, in order. */
  readonly units: readonly UnitResult[];
  /** True: the last units are left out because the result would be too large. They are in the run's events. */
  readonly unitsCut: true | undefined;

  /** Creates the result of a program's run from its fields, as `client.run` does. */
  constructor(fields: RunResultFields<Output | null>, parts?: RequestedParts) {
    super(fields, parts);
    this.units = fields.units ?? [];
    this.unitsCut = fields.unitsCut;
  }

  /** The name of the program. */
  get programName(): string {
    return this.agentName;
  }

  protected override progress(): string[] {
    const { units, steps, attempts } = this.#counts();
    return [`units: ${units}`, `steps: ${steps}`, counted(attempts, 'attempt'), counted(this.usage.llmCalls, 'model call')];
  }

  protected override progressLines(): string[] {
    const { units, steps, attempts } = this.#counts();
    return [`Units:    ${units}`, `Steps:    ${steps} (${counted(attempts, 'attempt')})`, `Calls:    ${this.usage.llmCalls}`];
  }

  #counts(): { units: string; steps: string; attempts: number } {
    const steps = this.units.flatMap((unit) => unit.steps);
    const cut = this.unitsCut || this.units.some(({ stepsCut }) => stepsCut) ? ' and more' : '';
    return {
      units: inStates(this.units.map(({ status }) => status)),
      steps: `${inStates(steps.map(({ status, reused }) => (reused ? 'reused' : status)))}${cut}`,
      attempts: steps.reduce((sum, step) => sum + step.attempts, 0),
    };
  }

  override toJSON(): ProgramResultJson<Output | null> {
    return { ...super.toJSON(), units: [...this.units], ...(this.unitsCut === undefined ? {} : { unitsCut: true as const }) };
  }
}

const STATES = ['completed', 'reused', 'failed', 'skipped', 'running', 'not_started'] as const;

/** Formats the numbers of units or steps in each state: `2 completed, 1 failed`. */
function inStates(all: readonly (typeof STATES)[number][]): string {
  const counts = STATES.map((state) => ({ state, count: all.filter((one) => one === state).length }));
  const present = counts.filter(({ count }) => count > 0).map(({ state, count }) => `${count} ${state.replace('_', ' ')}`);
  return present.join(', ') || 'none';
}

/** Creates the result of a run from its fields: a program's result if they contain units. */
export function resultFrom(fields: RunResultFields<unknown>, parts?: RequestedParts): RunResult<unknown> | ProgramResult<unknown> {
  return fields.units === undefined ? new RunResult<unknown>(fields, parts) : new ProgramResult<unknown>(fields, parts);
}
