import { activityInfo } from '@temporalio/activity';
import { cutText } from '../../src/core/domain/byte-budgets.ts';
import { errorCode } from '../../src/core/domain/errors.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import type { ModelResponse } from '../../src/core/domain/model.ts';
import type { UsageStats } from '../../src/core/domain/usage.ts';
import type { OfRun, RunToolInput } from '../../src/core/protocol.ts';
import { type RunTrace, spanIdOf } from '../../src/telemetry/ids.ts';
import { modelLabels } from '../../src/telemetry/metrics.ts';
import { ATTRIBUTES as A, OPERATIONS } from '../../src/telemetry/names.ts';
import type { ApiSpan, Attributes } from '../../src/telemetry/provider.ts';
import { commonAttributes, usageAttributes } from '../../src/telemetry/run-spans.ts';
import type { Telemetry } from '../../src/telemetry/telemetry.ts';
import { attemptNumber } from '../attempts/attempt.ts';
import { thrownCode } from '../models/errors/error-rules.ts';
import type { RunTraces } from './run-traces.ts';

/** What a worker reports of its runs, and how. */
export interface WorkerTelemetry {
  telemetry: Telemetry;
  /** Whether spans have arguments, results and answers. */
  captureContent: CaptureContent;
  /** Removes the values of secrets. */
  redact: (value: JsonValue) => JsonValue;
  traces: RunTraces;
}

/** Whether spans have the content of calls. `redacted`: without the values of secrets. */
export type CaptureContent = false | 'redacted';

/** Bytes of JSON of a content that a span has. */
const CONTENT_BYTES = 64_000;

/** The span of one attempt, and its metric. There is no span if the trace is not recorded, or the place of its run is not known. */
class CallSpan {
  protected readonly worker: WorkerTelemetry;
  readonly #span: ApiSpan | undefined;
  readonly #beganAt = performance.now();
  #isEnded = false;

  constructor(worker: WorkerTelemetry, span: ApiSpan | undefined) {
    this.worker = worker;
    this.#span = span;
  }

  /** Does the work of the attempt. Spans that it starts are below this one. */
  within<Value>(work: () => Value): Value {
    return this.worker.telemetry.within(this.#span, work);
  }

  protected get seconds(): number {
    return (performance.now() - this.#beganAt) / 1_000;
  }

  /** Returns a content as attribute, if the worker wants it. */
  protected content(attribute: string, value: JsonValue): Attributes {
    return contentAttribute(this.worker, attribute, value);
  }

  /** Ends the span, once. `measure` counts the attempt. */
  protected end(attributes: () => Attributes, code: string | undefined, measure: (telemetry: Telemetry) => void): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { telemetry } = this.worker;
    telemetry.guarded(() => measure(telemetry));
    const span = this.#span;
    if (span === undefined) return;
    telemetry.guarded(() => {
      span.setAttributes({ ...attributes(), ...(code === undefined ? {} : { [A.errorType]: code }) });
      if (code !== undefined) telemetry.fail(span, code);
      span.end();
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

  constructor(worker: WorkerTelemetry, span: ApiSpan | undefined, labels: { tool: string; agent: string }) {
    super(worker, span);
    this.#labels = labels;
  }

  /** Ends it with a result. */
  ended({ content, isError }: { content: JsonValue[]; isError: boolean }): void {
    this.#end(() => this.content(A.toolResult, content), isError ? 'tool_failed' : undefined);
  }

  /** Ends it with an error, unless it has ended. */
  failed(error: unknown): void {
    this.#end(() => ({}), errorCode(error) ?? 'interrupted');
  }

  #end(attributes: () => Attributes, code: string | undefined): void {
    const { seconds } = this;
    this.end(attributes, code, ({ metrics }) => metrics.toolCall({ ...this.#labels, seconds, code }));
  }
}

/** Begins the span of an attempt of a tool call. */
export async function toolSpan(
  worker: WorkerTelemetry,
  input: RunToolInput,
  { tool, args }: { tool: string; args: JsonValue },
): Promise<ToolSpan> {
  const { agentName, callId, step } = input;
  const trace = await placeOf(worker, input);
  const attempt = attemptNumber();
  const span =
    trace &&
    worker.telemetry.start(trace, {
      name: `${OPERATIONS.tool} ${tool}`,
      spanId: spanIdOf(trace.run, 'tool', callId, attempt),
      parentSpanId: spanIdOf(trace.run, 'run'),
      attributes: {
        ...commonAttributes(trace.run, agentName),
        [A.operation]: OPERATIONS.tool,
        [A.tool]: tool,
        [A.toolType]: 'function',
        [A.toolCall]: callId,
        [A.step]: step,
        [A.attempt]: attempt,
        ...contentAttribute(worker, A.toolArguments, args),
      },
    });
  return new ToolSpan(worker, span, { tool, agent: agentName });
}

/** The span of one model that an attempt of a model call asks: `chat {model}`. */
export class ModelSpan extends CallSpan {
  readonly #model: string;
  #firstChunk: number | undefined;
  #code = '';

  constructor(worker: WorkerTelemetry, span: ApiSpan | undefined, model: string) {
    super(worker, span);
    this.#model = model;
  }

  /** A piece of the answer has arrived. */
  piece(): void {
    this.#firstChunk ??= this.seconds;
  }

  /** Ends it with an answer. `usage`: as far as the provider has reported it. */
  answered(answer: ModelResponse, usage: UsageStats | null): void {
    this.#end(() => this.#answerAttributes(answer), undefined, usage);
  }

  /** Ends it with an error. `usage` as above: a provider charges for the part of an answer. */
  failed(error: unknown, usage: UsageStats | null, { isAborted }: { isAborted: boolean }): void {
    this.#code = isAborted ? 'interrupted' : (errorCode(error) ?? thrownCode(error));
    this.#end(() => ({}), this.#code, usage);
  }

  /** Counts that the call moves on to another model. */
  movedOn(to: string): void {
    const { telemetry } = this.worker;
    telemetry.guarded(() => telemetry.metrics.fallback({ from: this.#model, to, code: this.#code }));
  }

  #answerAttributes({ content, finishReason }: ModelResponse): Attributes {
    const messages = [{ role: 'assistant', parts: [{ type: 'text', content }] }];
    return { [A.finishReasons]: [finishReason], ...this.content(A.outputMessages, messages) };
  }

  #end(attributes: () => Attributes, code: string | undefined, usage: UsageStats | null): void {
    const { seconds } = this;
    const measured = { model: this.#model, seconds, firstChunkSeconds: this.#firstChunk, usage, code };
    const all = (): Attributes => ({ ...usageAttributes(usage), ...attributes() });
    this.end(all, code, ({ metrics }) => metrics.modelCall(measured));
  }
}

/** Begins the spans of the models that one attempt of a model call asks. */
export type BeginModelSpan = (model: string) => ModelSpan;

/** A model call of a run. */
interface TracedModelCall {
  run: OfRun;
  agentName: string;
  /** Tells the model calls of a run apart. */
  call: string;
  step?: number | undefined;
}

/** Returns the function that begins the spans of an attempt of a model call. */
export async function modelSpans(worker: WorkerTelemetry, { run, agentName, call, step }: TracedModelCall): Promise<BeginModelSpan> {
  const trace = await placeOf(worker, run);
  const attempt = attemptNumber();
  let asked = 0;
  return (model) => {
    asked += 1;
    if (trace === undefined) return new ModelSpan(worker, undefined, model);
    const labels = modelLabels(model);
    const span = worker.telemetry.start(trace, {
      name: `${OPERATIONS.model} ${labels[A.requestModel]}`,
      kind: 'client',
      spanId: spanIdOf(trace.run, 'chat', call, attempt, asked),
      parentSpanId: spanIdOf(trace.run, 'run'),
      attributes: {
        ...commonAttributes(trace.run, agentName),
        ...labels,
        [A.operation]: OPERATIONS.model,
        [A.attempt]: attempt,
        ...(step === undefined ? {} : { [A.step]: step }),
      },
    });
    return new ModelSpan(worker, span, model);
  };
}

/** Names the current activity: for model calls that no event of the record names. */
export function activityCall(): string {
  const { workflowExecution, activityId } = activityInfo();
  return `${workflowExecution?.runId ?? ''}/${activityId}`;
}

/** Returns the place of the run of the current activity in its trace. Counts a span that is lost if nobody says it. */
async function placeOf({ telemetry, traces }: WorkerTelemetry, run: OfRun): Promise<RunTrace | undefined> {
  if (!telemetry.hasSpans) return undefined;
  const trace = await traces.ofActivity(run);
  if (trace === undefined) telemetry.drop();
  return trace;
}
