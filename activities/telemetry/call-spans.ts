import { activityInfo, cancellationDetails, getClient } from '@temporalio/activity';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { BURST_NOT_STORED } from '../../src/core/bursts/burst.ts';
import { cutText } from '../../src/core/domain/byte-budgets.ts';
import { errorCode } from '../../src/core/domain/errors.ts';
import { defined, type JsonValue } from '../../src/core/domain/json.ts';
import { isNotSent, type ModelResponse, NOT_SENT_ERROR } from '../../src/core/domain/model.ts';
import { cellOfCall } from '../../src/core/domain/tool-calls.ts';
import { beginningOfLoss, type TracedLoss } from '../../src/core/domain/traced-part.ts';
import { dollarsOf, type ModelPrice, priced, type UsageStats } from '../../src/core/domain/usage.ts';
import type { OfRun, RunToolInput } from '../../src/core/protocol.ts';
import { attemptSpanId, type NamedAttempt, rootSpanId, type RunTrace } from '../../src/telemetry/ids.ts';
import { type Metrics, modelLabels } from '../../src/telemetry/metrics.ts';
import { ATTRIBUTES as A, OPERATIONS } from '../../src/telemetry/names.ts';
import type { ApiSpan, Attributes } from '../../src/telemetry/provider.ts';
import { commonAttributes, lossSpan, parentOfCall, usageAttributes } from '../../src/telemetry/run-spans.ts';
import type { Telemetry } from '../../src/telemetry/telemetry.ts';
import { findExecution } from '../../src/temporal/run-workflow.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { attemptNumber } from '../attempts/attempt.ts';
import { thrownCode } from '../models/errors/error-rules.ts';
import { type RunTraces, withinAnswer } from './run-traces.ts';

/** The telemetry of a worker's runs. */
export interface WorkerTelemetry {
  telemetry: Telemetry;
  /** Whether spans have arguments, results and answers. */
  captureContent: CaptureContent;
  /** Removes the values of secrets. */
  redact: (value: JsonValue) => JsonValue;
  traces: RunTraces;
}

/** Whether spans have the content of calls. `redacted`: without secret values. */
export type CaptureContent = false | 'redacted';

/** The maximum bytes of JSON of a span's content. */
const CONTENT_BYTES = 64_000;

/** The span of one attempt, and its metric. There is no span if the trace is not sampled, or the run's place in it is unknown. */
class CallSpan {
  protected readonly worker: WorkerTelemetry;
  #span: ApiSpan | undefined;
  readonly #inside = attemptInfo().inside;
  readonly #startedAt = Date.now();
  readonly #beganAt = performance.now();
  #isEnded = false;

  constructor(worker: WorkerTelemetry, span: ApiSpan | undefined) {
    this.worker = worker;
    this.#span = span;
  }

  /** Runs the attempt's work. Spans that it starts are children of this one. */
  within<Value>(work: () => Value): Value {
    return this.worker.telemetry.within(this.#span, work);
  }

  protected get seconds(): number {
    return (performance.now() - this.#beganAt) / 1_000;
  }

  /** Reports an ended span: in a burst or a batch only once the server has the outcome of the call. */
  #handOver(span: ApiSpan): void {
    const { telemetry } = this.worker;
    const endTime = this.#startedAt + this.seconds * 1_000;
    const report = (): unknown => telemetry.guarded(() => span.end(endTime));
    // If this process is killed before the server has the outcome, another one reports an attempt with the same id.
    if (this.#inside === undefined) this.report(report);
    else this.#inside.whenStored(report);
  }

  /** Reports the span of an activity's only call. */
  protected report(report: () => void): void {
    report();
  }

  /** Returns a content as an attribute, if the worker captures content. */
  protected content(attribute: string, value: JsonValue): Attributes {
    return contentAttribute(this.worker, attribute, value);
  }

  /** Ends the span, once. `measure` counts the attempt. */
  protected end(attributes: () => Attributes, code: string | undefined, measure: (metrics: Metrics) => void): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { telemetry } = this.worker;
    telemetry.measure(measure);
    const span = this.#span;
    if (span === undefined) return;
    telemetry.guarded(() => {
      span.setAttributes({ ...attributes(), ...(code === undefined ? {} : { [A.errorType]: code }) });
      if (code !== undefined) telemetry.fail(span, code);
      this.#handOver(span);
    });
  }
}

function contentAttribute({ captureContent, redact }: WorkerTelemetry, attribute: string, value: JsonValue): Attributes {
  if (captureContent !== 'redacted') return {};
  return { [attribute]: cutText(JSON.stringify(redact(value)), CONTENT_BYTES) };
}

/** The span of one attempt of a tool call: `execute_tool {tool}`. */
export class ToolSpan extends CallSpan {
  readonly #labels: { tool: string; agent: string };
  #report: (() => void) | undefined;

  constructor(worker: WorkerTelemetry, span: ApiSpan | undefined, labels: { tool: string; agent: string }) {
    super(worker, span);
    this.#labels = labels;
  }

  /** Ends the span with a result. */
  ended({ content, isError }: { content: JsonValue[]; isError: boolean }): void {
    this.#end(() => this.content(A.toolResult, content), isError ? 'tool_failed' : undefined);
  }

  /** Ends the span with an error, unless it has ended. */
  failed(error: unknown): void {
    this.#end(() => ({}), errorCode(error) ?? 'interrupted');
  }

  /** Ends the span because of the tool's timeout: its run gets an error result. */
  timedOut(): void {
    this.#end(() => ({}), 'tool_failed');
  }

  /**
   * Called when the attempt is over. A process that reports the attempt as lost uses the same span id, because the tool's spans are below
   * it. So the span is only reported here if the server has not abandoned the attempt, and once it can have the outcome. `isCancelled`: by
   * its run, which does not wait for it.
   */
  async attemptOver({ isCancelled }: { isCancelled: boolean }): Promise<void> {
    const report = this.#report;
    this.#report = undefined;
    if (report === undefined) return;
    const fate = await fateOfAttempt({ tookMs: this.seconds * 1_000, isCancelled });
    if (fate === 'awaited') this.worker.telemetry.later(report);
    // A repair will report it.
    else if (fate === 'unknown') this.worker.telemetry.drop();
  }

  protected override report(report: () => void): void {
    this.#report = report;
  }

  #end(attributes: () => Attributes, code: string | undefined): void {
    const { seconds } = this;
    this.end(attributes, code, (metrics) => metrics.toolCall({ ...this.#labels, seconds, code }));
  }
}

/** Begins the span of an attempt of a tool call. */
export async function toolSpan(
  worker: WorkerTelemetry,
  input: RunToolInput,
  { tool, args }: { tool: string; args: JsonValue },
): Promise<ToolSpan> {
  const { agentName, callId, step, at, ofProgram } = input;
  const cell = ofProgram ? undefined : cellOfCall(callId);
  const trace = await placeOf(worker, input, at[0]);
  const made = currentAttempt();
  await reportLoss(worker, trace, { call: callId, toolName: tool, agent: agentName, step, ...defined({ cell }) });
  const span =
    trace &&
    worker.telemetry.start(trace, {
      name: `${OPERATIONS.tool} ${tool}`,
      spanId: attemptSpanId(trace.run, 'tool', { call: callId, ...made }),
      parentSpanId: parentOfCall(trace, cell),
      attributes: {
        ...commonAttributes(trace.run, agentName),
        [A.operation]: OPERATIONS.tool,
        [A.tool]: tool,
        [A.toolType]: 'function',
        [A.toolCall]: callId,
        [A.step]: step,
        [A.attempt]: made.attempt,
        ...contentAttribute(worker, A.toolArguments, args),
      },
    });
  return new ToolSpan(worker, span, { tool, agent: agentName });
}

/** What a model's attempt is measured by. */
interface ModelSpanFacts {
  model: string;
  agent: string;
  /** Returns the cost of an attempt; undefined if the price is unknown. */
  dollars: (usage: UsageStats, hosted: ModelResponse['hosted']) => number | undefined;
}

/** The span of one model that an attempt of a model call asks: `chat {model}`. */
export class ModelSpan extends CallSpan {
  readonly #model: string;
  readonly #agent: string;
  readonly #dollars: ModelSpanFacts['dollars'];
  #firstChunk: number | undefined;
  #code = '';

  constructor(worker: WorkerTelemetry, span: ApiSpan | undefined, { model, agent, dollars }: ModelSpanFacts) {
    super(worker, span);
    this.#model = model;
    this.#agent = agent;
    this.#dollars = dollars;
  }

  /** Records the arrival of a piece of the answer. */
  piece(): void {
    this.#firstChunk ??= this.seconds;
  }

  /** Ends the span with an answer. `usage`: the part that the provider has reported. */
  answered(answer: ModelResponse, usage: UsageStats | null): void {
    this.#end(() => this.#answerAttributes(answer), { usage, hosted: answer.hosted });
  }

  /** Ends the span with an error. `usage` as above: a provider charges for a partial answer. */
  failed(error: unknown, usage: UsageStats | null, { isAborted }: { isAborted: boolean }): void {
    this.#code = isAborted ? 'interrupted' : isNotSent(error) ? NOT_SENT_ERROR : (errorCode(error) ?? thrownCode(error));
    this.#end(() => ({}), { code: this.#code, usage });
  }

  /** Counts the call's move to another model. */
  movedOn(to: string): void {
    this.worker.telemetry.measure((metrics) => metrics.fallback({ from: this.#model, to, code: this.#code }));
  }

  #answerAttributes({ content, finishReason }: ModelResponse): Attributes {
    const messages = [{ role: 'assistant', parts: [{ type: 'text', content }] }];
    return { [A.finishReasons]: [finishReason], ...this.content(A.outputMessages, messages) };
  }

  #end(
    attributes: () => Attributes,
    { code, usage, hosted }: { code?: string; usage: UsageStats | null; hosted?: ModelResponse['hosted'] },
  ): void {
    const { seconds } = this;
    const dollars = usage === null ? undefined : this.#dollars(usage, hosted);
    const measured = { model: this.#model, agent: this.#agent, seconds, firstChunkSeconds: this.#firstChunk, usage, dollars, code };
    const all = (): Attributes => ({ ...usageAttributes(usage), ...attributes() });
    // A request that was not sent says nothing about the model.
    this.end(all, code, (metrics) => {
      if (code !== NOT_SENT_ERROR) metrics.modelCall(measured);
    });
  }
}

/** Begins the span of a model that an attempt of a model call asks. `inBatch`: it has answered in a batch. */
export type BeginModelSpan = (model: string, options?: { inBatch?: boolean | undefined }) => ModelSpan;

/** A model call of a run. */
interface TracedModelCall {
  run: OfRun;
  agentName: string;
  /** The prices that the run has pinned, by `provider/model`: the cost is the same as in its usage. */
  prices?: Record<string, ModelPrice> | undefined;
  /** Distinguishes the model calls of a run. Default: the number of events, which is unique among recorded calls. */
  call?: string;
  /** The number of events in the call's conversation. */
  through: number;
  step?: number | undefined;
  /** `provider/model` of the first asked model. */
  model?: string;
}

/** Returns the function that begins the spans of an attempt of a model call. */
export async function modelSpans(
  worker: WorkerTelemetry,
  { run, agentName, prices, through, call = String(through), step, model: first }: TracedModelCall,
): Promise<BeginModelSpan> {
  const trace = await placeOf(worker, run, through);
  const made = currentAttempt();
  await reportLoss(worker, trace, { call, agent: agentName, ...defined({ step, model: first }) });
  let asked = 0;
  return (model, { inBatch = false } = {}) => {
    asked += 1;
    const dollars: ModelSpanFacts['dollars'] = (usage, hosted) =>
      dollarsOf(priced(prices, model, usage, { inBatch, ...defined({ hosted }) }));
    const facts = { model, agent: agentName, dollars };
    if (trace === undefined) return new ModelSpan(worker, undefined, facts);
    const labels = modelLabels(model);
    const span = worker.telemetry.start(trace, {
      name: `${OPERATIONS.model} ${labels[A.requestModel]}`,
      kind: 'client',
      spanId: attemptSpanId(trace.run, 'chat', { call, ...made }, asked),
      parentSpanId: rootSpanId(trace),
      attributes: {
        ...commonAttributes(trace.run, agentName),
        ...labels,
        [A.operation]: OPERATIONS.model,
        [A.attempt]: made.attempt,
        ...(step === undefined ? {} : { [A.step]: step }),
      },
    });
    return new ModelSpan(worker, span, facts);
  };
}

/** Names the current activity, for model calls that no event of the record names. */
export function activityCall(): string {
  const { workflowExecution, activityId } = activityInfo();
  return `${workflowExecution?.runId ?? ''}/${activityId}`;
}

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The types of timeouts that mean that the worker of an attempt is lost: `START_TO_CLOSE` and `HEARTBEAT`. */
const LOSSES: ReadonlySet<number> = new Set([1, 4]);

/**
 * Reports the previous attempt if its worker was lost: it could not do so itself, and its tool's spans are below it. The server is only
 * asked on later attempts, which wait for the answer, because it forgets the cause once they have ended. Never rejects.
 */
async function reportLoss(
  { telemetry }: WorkerTelemetry,
  trace: RunTrace | undefined,
  lost: Omit<TracedLoss, 'activity' | 'attempt' | 'from' | 'to'>,
): Promise<void> {
  const { attempt: attempts, isLocal, inside, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = attemptInfo();
  if (trace === undefined || attempts <= 1 || isLocal || inside?.isRetry) return;
  const made = currentAttempt();
  const attempt = made.attempt - 1;
  // No earlier attempt was made: they were parked, or went to workers that lacked something.
  if (attempt < 1) return;
  const { pending } = (await pendingActivity(activityInfo().activityId)) ?? {};
  const failure = pending?.lastFailure;
  const hasTimedOut = LOSSES.has(failure?.timeoutFailureInfo?.timeoutType ?? 0);
  // A burst attempt that could not store its outcomes counts as lost.
  const isLost = hasTimedOut || (inside !== undefined && failure?.applicationFailureInfo?.type === BURST_NOT_STORED);
  if (!isLost) return;
  // The start of the current attempt, which is also in the history.
  const to = optionalTsToMs(pending?.lastStartedTime) ?? currentAttemptScheduledTimestampMs;
  const from = beginningOfLoss({ attempt, scheduledAt: scheduledTimestampMs, to });
  telemetry.report(trace, lossSpan(trace, { ...lost, ...made, attempt, from, to }));
}

/**
 * Returns the fields that identify the current attempt at its call. Only this process reports attempts at a local call, so its time can
 * identify one.
 */
function currentAttempt(): Omit<NamedAttempt, 'call'> {
  const { isLocal, inside, currentAttemptScheduledTimestampMs: localAt } = attemptInfo();
  const attempt = attemptNumber();
  if (isLocal) return { activity: '', attempt, localAt };
  return { activity: activityInfo().activityId, attempt, ...defined({ earlier: inside?.earlier }) };
}

/**
 * The fate of an attempt's outcome. `given_up`: the server has not heard from the attempt in time and considers the worker lost, and the
 * next attempt reports that. `unknown`: the server does not answer.
 */
type AttemptFate = 'awaited' | 'given_up' | 'unknown';

/**
 * Returns the fate of the current attempt's outcome. A stalled process does not know that the server has abandoned its attempt, so the
 * server is asked about a long attempt. Its time counts from the server's scheduling, because the process may have stalled before it began,
 * and is at least its duration by the process's clock, because the server's clock may differ.
 */
export async function fateOfAttempt({ tookMs, isCancelled }: { tookMs: number; isCancelled: boolean }): Promise<AttemptFate> {
  const details = cancellationDetails();
  if (details?.notFound || details?.timedOut) return 'given_up';
  const {
    activityId,
    attempt,
    isLocal,
    heartbeatTimeoutMs = Infinity,
    startToCloseTimeoutMs,
    currentAttemptScheduledTimestampMs,
  } = activityInfo();
  const patienceMs = Math.min(heartbeatTimeoutMs, startToCloseTimeoutMs);
  const elapsedMs = Math.max(tookMs, Date.now() - currentAttemptScheduledTimestampMs);
  if (isLocal || elapsedMs < patienceMs / 2) return 'awaited';
  const answer = await pendingActivity(activityId);
  if (answer === undefined) return 'unknown';
  // A run that has cancelled the call no longer waits for it, and makes no further attempt.
  if (answer.pending === undefined) return isCancelled ? 'awaited' : 'given_up';
  return answer.pending.attempt === attempt ? 'awaited' : 'given_up';
}

/** Returns the server's state of a pending activity of the current execution. Undefined if the server does not answer in time. */
function pendingActivity(activityId: string): Promise<{ pending: PendingActivity | undefined } | undefined> {
  const { workflowId = '', runId = '' } = activityInfo().workflowExecution ?? {};
  return withinAnswer(getClient(), async (client) => {
    const found = await findExecution(client, workflowId, runId);
    return found && { pending: found.raw.pendingActivities?.find((one) => one.activityId === activityId) };
  });
}

/** Returns the current activity's run's place in its trace. Counts a lost span if it is unknown. */
async function placeOf({ telemetry, traces }: WorkerTelemetry, run: OfRun, offset: number): Promise<RunTrace | undefined> {
  if (!telemetry.hasSpans) return undefined;
  const trace = await traces.ofActivity(run, offset);
  if (trace === undefined) telemetry.drop();
  return trace;
}
