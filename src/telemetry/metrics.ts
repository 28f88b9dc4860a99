import type { UsageStats } from '../core/domain/usage.ts';
import { ATTRIBUTES as A, METRICS, OPERATIONS, SCOPE } from './names.ts';
import type { ApiCounter, ApiHistogram, ApiMeter, Attributes, MeterProvider } from './provider.ts';

/** The most values of one label. A label with more would make the number of series of a metric grow without end. */
const MOST_VALUES = 200;

/** The value that stands for all further ones. */
const OTHER = 'other';

/** The buckets of durations in seconds, as the conventions have them. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/** The buckets of counts of calls. */
const CALLS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256];

/** One attempt of a model call, as it ended. */
export interface MeasuredModelCall {
  /** `provider/model`. */
  model: string;
  seconds: number;
  /** Absent: nothing was streamed. */
  firstChunkSeconds?: number | undefined;
  usage?: UsageStats | null | undefined;
  /** The code of its failure. */
  code?: string | undefined;
}

/** One attempt of a tool call, as it ended. */
export interface MeasuredToolCall {
  tool: string;
  agent: string;
  seconds: number;
  code?: string | undefined;
}

/** A run, as it ended. */
export interface MeasuredRun {
  agent: string;
  isWorkflow: boolean;
  status: string;
  stopReason: string;
  seconds: number;
  modelCalls: number;
  toolCalls: number;
  dollars?: number | undefined;
  code?: string | undefined;
}

/** A call that moved on from one model to the next. */
export interface MeasuredFallback {
  from: string;
  to: string;
  code: string;
}

/**
 * The metrics of a worker. Their labels name agents, models, tools, codes and statuses, and never a run, a tenant or a user. They count
 * what this process does, so a replay counts nothing.
 */
export class Metrics {
  readonly #labels = new Map<string, Set<string>>();
  readonly #counters = new Map<string, ApiCounter>();
  readonly #histograms = new Map<string, ApiHistogram>();
  readonly #meter: ApiMeter;

  constructor(provider: MeterProvider) {
    this.#meter = provider.getMeter(SCOPE);
  }

  modelCall({ model, seconds, firstChunkSeconds, usage, code }: MeasuredModelCall): void {
    const labels = this.#bounded({ [A.operation]: OPERATIONS.model, ...modelLabels(model) });
    this.#histogram(METRICS.inferenceDuration, 's', SECONDS).record(seconds, { ...labels, ...this.#errorType(code) });
    if (firstChunkSeconds !== undefined) this.#histogram(METRICS.firstChunk, 's', SECONDS).record(firstChunkSeconds, labels);
    if (usage === undefined || usage === null) return;
    const tokens: [name: string, amount: number | undefined][] = [
      [METRICS.inputTokens, usage.promptTokens],
      [METRICS.outputTokens, usage.completionTokens],
      [METRICS.cacheRead, usage.cachedTokens],
      [METRICS.cacheWrite, usage.cacheWriteTokens],
      [METRICS.reasoningTokens, usage.reasoningTokens],
    ];
    for (const [name, amount = 0] of tokens) if (amount > 0) this.#counter(name, '{token}').add(amount, labels);
  }

  toolCall({ tool, agent, seconds, code }: MeasuredToolCall): void {
    const labels = this.#bounded({ [A.tool]: tool, [A.agent]: agent });
    this.#histogram(METRICS.toolDuration, 's', SECONDS).record(seconds, { ...labels, ...this.#errorType(code) });
  }

  runEnded({ agent, isWorkflow, status, stopReason, seconds, modelCalls, toolCalls, dollars, code }: MeasuredRun): void {
    const name = this.#bounded({ [A.agent]: agent });
    this.#counter(METRICS.runsEnded, '{run}').add(1, this.#bounded({ [A.agent]: agent, [A.status]: status, [A.stopReason]: stopReason }));
    if (dollars !== undefined) this.#counter(METRICS.cost, '').add(dollars, name);
    if (isWorkflow) return;
    this.#histogram(METRICS.agentDuration, 's', SECONDS).record(seconds, { ...name, ...this.#errorType(code) });
    this.#histogram(METRICS.agentInferenceCalls, '{call}', CALLS).record(modelCalls, name);
    this.#histogram(METRICS.agentToolCalls, '{call}', CALLS).record(toolCalls, name);
  }

  fallback({ from, to, code }: MeasuredFallback): void {
    this.#counter(METRICS.fallbacks, '{call}').add(1, this.#bounded({ [A.from]: from, [A.to]: to, [A.code]: code }));
  }

  /** A call has got its permit from the governor. `source`: it was `lent`, or `granted` when it was asked for. */
  governorPermit({ provider, seconds, source }: { provider: string; seconds: number; source: 'lent' | 'granted' }): void {
    const labels = this.#bounded({ [A.provider]: provider });
    this.#histogram(METRICS.governorWait, 's', SECONDS).record(seconds, labels);
    this.#counter(METRICS.governorPermits, '{permit}').add(1, { ...labels, [A.source]: source });
  }

  /** A provider has refused a call that had a permit. */
  governorRefused(provider: string): void {
    this.#counter(METRICS.governorRefused, '{call}').add(1, this.#bounded({ [A.provider]: provider }));
  }

  /** A provider has asked for a pause, in which nothing is sent to it. */
  governorHeld(provider: string, seconds: number): void {
    this.#counter(METRICS.governorHold, 's').add(seconds, this.#bounded({ [A.provider]: provider }));
  }

  dropped(): void {
    this.#counter(METRICS.dropped, '{span}').add(1);
  }

  #errorType(code: string | undefined): Attributes {
    return code === undefined ? {} : this.#bounded({ [A.errorType]: code });
  }

  /** Returns the labels with `other` for values beyond the most of each. */
  #bounded(labels: Readonly<Record<string, string>>): Attributes {
    return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, this.#boundedValue(label, value)]));
  }

  #boundedValue(label: string, value: string): string {
    const known = this.#labels.get(label) ?? new Set();
    this.#labels.set(label, known);
    if (!known.has(value) && known.size >= MOST_VALUES) return OTHER;
    known.add(value);
    return value;
  }

  #counter(name: string, unit: string): ApiCounter {
    const counter = this.#counters.get(name) ?? this.#meter.createCounter(name, unit === '' ? {} : { unit });
    this.#counters.set(name, counter);
    return counter;
  }

  #histogram(name: string, unit: string, explicitBucketBoundaries: number[]): ApiHistogram {
    const histogram = this.#histograms.get(name) ?? this.#meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } });
    this.#histograms.set(name, histogram);
    return histogram;
  }
}

/** Returns the attributes that name a model, given as `provider/model`. */
export function modelLabels(model: string): Record<string, string> {
  const slash = model.indexOf('/');
  return { [A.provider]: model.slice(0, Math.max(0, slash)), [A.requestModel]: model.slice(slash + 1) };
}
