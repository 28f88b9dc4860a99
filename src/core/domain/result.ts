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

/** The amounts that a run, or the turns of a session, have used. */
export const SPENT_MEMBERS = {
  /** The number of steps that are complete. */
  stepsUsed: s.NUMBER,
  /** Tokens and costs of all model calls. */
  usage: AGGREGATED_USAGE,
  /** The number of calls that tools executed, whether they succeeded or not. */
  toolCallsTotal: s.NUMBER,
  /** The same by the name of the tool, in the order of first use. */
  toolCallsByName: s.recordOf(s.NUMBER),
  /** The number of calls that did not run, by the reason (`refused`, `answered`, …) and by the name of the tool. Absent if all have run. */
  toolCallsNotRun: s.optional(CALLS_NOT_RUN),
  /** The amounts that the descendants of this run have used, if it has started any. They are not part of the counts above. */
  descendants: s.optional(s.anyObject<SpentByDescendants>()),
};

const FIELDS = {
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The id of the run. */
  runId: s.TEXT,
  /** The name of the agent or the program that was started. */
  agentName: s.TEXT,
  /** The answer; the best partial answer if the run did not complete. */
  output: s.shape<unknown>(s.ANY_JSON),
  /** How the run ended: `completed`, `max_iterations_reached`, `limit_reached`, `error` or `cancelled`. */
  status: TERMINAL_STATUS,
  /** What ended it, more precisely than the status: it names the limit, for example. */
  stopReason: s.shape<StopReason>(s.TEXT),
  /**
   * The reason why the model ended its last answer: `stop`, `tool_calls`, `length` if it was cut off, or the provider's own word.
   * Absent if the run has recorded no step, and for programs.
   */
  finishReason: s.optional(s.TEXT),
  ...SPENT_MEMBERS,
  /** ISO 8601; null in a result that no run produced. */
  startTime: s.orNull(s.TIMESTAMP),
  /** ISO 8601; null in a result that no run produced. */
  endTime: s.orNull(s.TIMESTAMP),
  /** Seconds from its start to its end, with all waiting; null in a result that no run produced. */
  durationSeconds: s.orNull(s.NUMBER),
  /** The code and the message of a run that failed; null otherwise. */
  error: s.orNull(s.TEXT),
  /** The code of the error table, for status `error`. */
  errorCode: s.optional(s.TEXT),
  /** The reason that the caller gave for cancelling the run. */
  cancelReason: s.optional(s.TEXT),
  /** The limits at the end of the run, as its agent and its start set them and callers raised them. */
  limits: LIMIT_VALUES,
  /** The number of turns, if the run is a session. */
  turns: s.optional(s.NUMBER),
  /** Events that are not in the archive, because storing them failed. */
  notArchived: s.optional(s.listOf(NOT_ARCHIVED)),
  /** The checks of the answer, if the run is that of an `ask` with tools: the step has failed if they found a violation. */
  verdict: s.optional(s.anyObject<AnswerVerdict>()),
  /** The agent that acted last, if the run was handed over. */
  lastAgent: s.optional(s.TEXT),
  /** The usage of each agent, in the order of their first turns, if the run was handed over. */
  usageByAgent: s.optional(s.recordOf(AGGREGATED_USAGE)),
  // Of the start and of the end of the run.
  ...RECORD_PARTS,
  /** The guardrail that ended the run, for stop reason `guardrail`. */
  guardrail: s.optional(s.anyObject<GuardrailTrip>()),
};

const STEPS = {
  /** The steps. The event that closes a run does not hold them; a result has them if they were requested with `result({steps: true})`. */
  steps: s.optional(s.listOf(STEP_RESULT)),
};

const OF_PROGRAM = {
  /** The units of a program, if the run is that of one. */
  units: s.optional(s.listOf(s.anyObject<UnitResult>())),
  /** True: units were left out to fit into the closing event. */
  unitsCut: s.optional(s.TRUE),
};

/** The result of a run at the end of its stream, which has shown the steps before, without the members that follow from the others. */
export const STREAMED_RESULT = s.object({ ...FIELDS, ...OF_PROGRAM });

/** The members of a result as JSON. */
export const RESULT_MEMBERS = {
  ...FIELDS,
  ...STEPS,
  /** The usage of the run and of all its descendants. Absent if it has started none, and for a program: it is then `usage`. */
  treeUsage: s.optional(AGGREGATED_USAGE),
  /** True if the status is `completed`. */
  success: s.FLAG,
  /** The output as text: of parts their texts, of an object its JSON. */
  outputText: s.TEXT,
  /** True if the output has images, audio, video or files. */
  hasMedia: s.FLAG,
  /** The media types of the output, each once. */
  mediaTypes: s.listOf(s.TEXT),
  /** The limit of steps of the run. */
  maxIterations: s.described(s.NUMBER, 'The same as `limits.steps`.'),
};

/** The same of any run, which may be that of a program. */
export const ANY_RESULT_MEMBERS = { ...RESULT_MEMBERS, ...OF_PROGRAM };

/** The fields of a RunResult as plain JSON. The event that closes a run does not hold `steps`, so that content is stored once. */
export interface RunResultFields<Output = JsonValue>
  extends s.ObjectOf<typeof FIELDS>, s.ObjectOf<typeof STEPS>, s.ObjectOf<typeof OF_PROGRAM> {
  /** The answer; the best partial answer if the run did not complete. */
  output: Output;
  /** True: `output` was cut to fit into the closing event. The client replaces it by the whole output. */
  outputTruncated?: true;
}

/** The parts of a result that its reader asks for: the record of the run has them. */
export interface RequestedParts {
  /** The deps at the end of the run, if they were requested with `result({deps: true})`. */
  deps?: JsonObject;
  /** The state that tools have set, at the end of the run, if it was requested with `result({state: true})`. */
  state?: JsonObject;
  /** What the run did, if it was requested with `result({trace: true})`. */
  trace?: ExecutionTrace;
  /** The span of the run in the traces of the operator, if it was requested with `result({traceContext: true})`. */
  traceContext?: TraceContext;
}

/** A span in the traces of the operator (docs/telemetry.md): what a `traceparent` names. */
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
 * The result of a run, however it ended. If `status` is `completed`, and so `success` is true, `output` is the answer. Otherwise
 * it is of type `Unfinished`: the last thought as text, or the answer of the final attempt if the agent has `finalAttempt`.
 */
export type RunResult<Output = DefaultOutput, Unfinished = Output | string> = CompletedRun<Output> | UnfinishedRun<Unfinished>;

/** The result of a run that completed. */
export type CompletedRun<Output = DefaultOutput> = EndedRun<Output> & { readonly status: 'completed'; readonly success: true };

/** The result of a run that a limit, an error or a cancellation ended. */
export type UnfinishedRun<Unfinished = string> = EndedRun<Unfinished> & {
  readonly status: Exclude<TerminalStatus, 'completed'>;
  readonly success: false;
};

/** The members of every result that hold data. */
type ResultData<Output> = Omit<RunResultFields<Output>, keyof s.ObjectOf<typeof OF_PROGRAM> | 'outputTruncated'> & RequestedParts;

/** The same members, each of which can be read: those that may be missing as undefined. */
type Readable<Data> = { readonly [Key in keyof Data]-?: object extends Pick<Data, Key> ? Data[Key] | undefined : Data[Key] };

const PLAIN: unknown = Object;

const DATA_NAMES: ReadonlySet<string> = new Set([...Object.keys({ ...FIELDS, ...STEPS }), 'deps', 'state', 'trace', 'traceContext']);

function dataOf<Output>(result: object): ResultData<Output> {
  return Object.fromEntries(Object.entries(result).filter(([name]) => DATA_NAMES.has(name))) as ResultData<Output>;
}

/** The base of a class with the members of that data: it can take them from a type in no other way. */
const WithData = PLAIN as new <Output>() => Readable<ResultData<Output>>;

/** The fields and methods of every result. */
export class EndedRun<Output> extends WithData<Output> {
  /** Members that are not data of a result are ignored: JSON may also hold values that follow from the others. */
  constructor(fields: RunResultFields<Output>, parts: RequestedParts = {}) {
    super();
    Object.assign(this, dataOf<Output>({ ...fields, ...parts }));
  }

  /** The usage of the run and of all its descendants. */
  get treeUsage(): AggregatedUsage {
    return this.descendants === undefined ? this.usage : addRunUsage(this.usage, this.descendants.usage);
  }

  /** True only for status `completed`: no limit, no error and no cancellation is a success. */
  get success(): boolean {
    return this.status === 'completed';
  }

  /** The output as text: media parts as `[Image: WxH]`, `[Audio: format]`, `[Video: format]`, objects as JSON. */
  get outputText(): string {
    return outputText(this.output);
  }

  /** The kinds of content in the output, sorted; `text` is one of them. */
  get mediaTypes(): string[] {
    return mediaTypes(this.output);
  }

  /** True if the output contains media. */
  get hasMedia(): boolean {
    return this.mediaTypes.some((type) => type !== 'text');
  }

  /**
   * Summarises the result in one line: `[completed] bot | 2/10 steps | 3 tool calls (searchx2, calcx1) | 150 tokens | 2.50s`. Calls
   * that did not run are named after those that did: `1 tool calls (lookupx1), 1 refused (refund)`.
   */
  summary(): string {
    const line = [
      `[${this.status}] ${this.agentName}`,
      ...this.progress(),
      // The same words for every number, as the framework that the line comes from: programs take it apart.
      callsText(this, { times: 'x', none: 'none', unit: 'tool calls' }),
      `${this.usage.totalTokens} tokens${this.#estimated()}`,
      this.#duration(),
    ];
    if (isCutOff(this.finishReason)) line.push(`finish: ${this.finishReason}`);
    if (this.hasMedia) line.push(`media: ${this.mediaTypes.join('+')}`);
    return line.join(' | ');
  }

  /** Shows the result in several lines: run, agent, status, steps, tools, tokens, duration, output (120 characters), error. */
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

  /** Returns the parts of the summary that say how far the run came. */
  protected progress(): string[] {
    if (this.turns !== undefined) return [counted(this.turns, 'turn'), counted(this.stepsUsed, 'step')];
    return [`${this.stepsUsed}/${this.limits.steps} steps`];
  }

  /** Returns the same as lines. */
  protected progressLines(): string[] {
    if (this.turns !== undefined) return [`Turns:    ${this.turns}`, `Steps:    ${this.stepsUsed}`];
    return [`Steps:    ${this.stepsUsed}/${this.limits.steps}`];
  }

  /** Shows the usage that no provider reported, which is not part of the other counts. */
  #estimated(): string {
    const { estimated } = this.usage;
    return estimated === undefined ? '' : ` + ${estimated.totalTokens} estimated`;
  }

  /** Shows a duration of 0 as n/a: it was not measured. */
  #duration(): string {
    return this.durationSeconds ? `${this.durationSeconds.toFixed(2)}s` : 'n/a';
  }
}

/** Makes a result from its fields. */
export const RunResult = EndedRun as new <Output = DefaultOutput>(
  fields: RunResultFields<Output>,
  parts?: RequestedParts,
) => RunResult<Output>;

/** Returns the first `length` characters, none of them split. */
function beginning(text: string, length: number): string {
  const characters = Array.from(text.slice(0, 2 * (length + 1)));
  return characters.length > length ? `${characters.slice(0, length).join('')}...` : text;
}

/** A ProgramResult as JSON: its fields and the values derived from them. */
export interface ProgramResultJson<Output = JsonValue> extends RunResultJson<Output> {
  /** One entry for each unit of the program, in its order. */
  units: UnitResult[];
  /** True if the units are too large for a result and some are left out: `handle.units()` has all. */
  unitsCut?: true;
}

/**
 * The result of a program, however it ended: that of every run, and the results of the units. If `status` is `completed`,
 * `output` is the output of the program; otherwise it is what the program's `output` gives so far, or null.
 *
 * `summary()` is one line: `[error] triage | units: 2 completed, 1 failed | steps: 4 completed, 1 reused, 1 failed | 7 attempts |
 * 6 model calls | 0 tool calls (none) | 150 tokens | 2.50s`. Steps of the items of a `forEach` that have ended are not among the steps
 * and the attempts; their calls and tokens are.
 */
export class ProgramResult<Output = JsonValue> extends EndedRun<Output | null> {
  /** One entry for each unit of the program, in its order. */
  readonly units: readonly UnitResult[];
  /** True: the last units are left out, because the result would be too large. The events of the run have them. */
  readonly unitsCut: true | undefined;

  /** Makes the result of a run of a program from its fields, as `client.run` does. */
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

/** Counts units or steps by their state: `2 completed, 1 failed`. */
function inStates(all: readonly (typeof STATES)[number][]): string {
  const counts = STATES.map((state) => ({ state, count: all.filter((one) => one === state).length }));
  const present = counts.filter(({ count }) => count > 0).map(({ state, count }) => `${count} ${state.replace('_', ' ')}`);
  return present.join(', ') || 'none';
}

/** Makes the result of a run from its fields: of a program if they have units. */
export function resultFrom(fields: RunResultFields<unknown>, parts?: RequestedParts): RunResult<unknown> | ProgramResult<unknown> {
  return fields.units === undefined ? new RunResult<unknown>(fields, parts) : new ProgramResult<unknown>(fields, parts);
}
