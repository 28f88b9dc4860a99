import { partsOfModelName } from '../core/domain/model.ts';
import type { UsageStats } from '../core/domain/usage.ts';
import { defined } from '../core/domain/json.ts';
import { ATTRIBUTES as A, METRICS, OPERATIONS, SCOPE } from './names.ts';
import type { ApiMeter, Attributes, MeterProvider } from './provider.ts';

/** The most values of one label: an unbounded label would make the number of series grow without limit. */
const MOST_VALUES = 200;

/** The most cached combinations of values. */
const MOST_KNOWN = 5_000;

/** The value that replaces all further ones. */
const OTHER = 'other';

/** The value of a run that was refused before it had an agent. */
const NONE = 'none';

/** The buckets of durations in seconds, from the conventions. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/** The buckets of the ages of batches, in seconds: from a minute to a day. */
const BATCH_SECONDS = [60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600, 86_400];

/** The buckets of counts of calls. */
const CALLS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The name of a metric in the code. */
type Metric = keyof typeof METRICS;

export interface Instrument {
  kind: 'counter' | 'histogram' | 'gauge';
  /** Units in braces count things. */
  unit?: string;
  description: string;
  /** The buckets of a histogram. */
  bounds?: number[];
}

const duration = (description: string, bounds = SECONDS): Instrument => ({ kind: 'histogram', unit: 's', description, bounds });
const tokensOf = (description: string): Instrument => ({ kind: 'counter', unit: '{token}', description });

/** All metrics. They exist before anything is measured, so that queries find them. */
export const INSTRUMENTS: Readonly<Record<Metric, Instrument>> = {
  inferenceDuration: duration('Time of an attempt of a model call'),
  firstChunk: duration('Time until the first piece of an answer'),
  inputTokens: tokensOf('Tokens of requests, including cached ones'),
  outputTokens: tokensOf('Tokens of answers, including reasoning'),
  cacheRead: tokensOf('Tokens of requests that were read from a cache'),
  cacheWrite: tokensOf('Tokens of requests that were written to a cache'),
  reasoningTokens: tokensOf('Tokens of reasoning'),
  toolDuration: duration('Time of an attempt of a tool call'),
  agentDuration: duration('Time of a run, or of a turn of a session'),
  agentInferenceCalls: { kind: 'histogram', unit: '{call}', description: 'Model calls of a run, or of a turn', bounds: CALLS },
  agentToolCalls: { kind: 'histogram', unit: '{call}', description: 'Tool calls of a run, or of a turn', bounds: CALLS },
  runsStarted: { kind: 'counter', unit: '{run}', description: 'Runs that have begun' },
  runsEnded: { kind: 'counter', unit: '{run}', description: 'Runs that have ended' },
  cost: { kind: 'counter', description: 'Cost of runs and turns that have ended, in US dollars' },
  modelCost: { kind: 'counter', description: 'Cost of attempts of model calls, in US dollars' },
  approvalsWaiting: { kind: 'gauge', unit: '{run}', description: 'Runs of the namespace that wait for a decision' },
  fallbacks: { kind: 'counter', unit: '{call}', description: 'Model calls that moved on to another model' },
  cacheLost: { kind: 'counter', unit: '{call}', description: 'Model calls whose cached beginning was lost' },
  outcomesUnknown: { kind: 'counter', unit: '{call}', description: 'Calls of tools with the effect "once" whose outcome is unknown' },
  storeFailures: { kind: 'counter', unit: '{access}', description: 'Failed accesses of the worker to its stores' },
  streamDropped: { kind: 'counter', unit: '{entry}', description: 'Entries of streams that were dropped' },
  httpDuration: duration('Time until a request of the HTTP service was answered'),
  dropped: { kind: 'counter', unit: '{span}', description: 'Spans that were lost' },
  governorWait: duration('Time that a model call waited for its permit'),
  governorRefused: { kind: 'counter', unit: '{call}', description: 'Calls that a provider refused although they had a permit' },
  governorHold: { kind: 'counter', unit: 's', description: 'Time of the pauses that providers requested' },
  governorPermits: { kind: 'counter', unit: '{permit}', description: 'Permits of calls, lent ahead or granted on request' },
  batchWaiting: { kind: 'gauge', unit: '{call}', description: 'Calls that wait for a batch' },
  batchOpen: { kind: 'gauge', unit: '{batch}', description: 'Batches that were posted and have not ended' },
  batchAge: duration('Time from the post of a batch to its end', BATCH_SECONDS),
};

/** One attempt of a model call, as it ended. */
export interface MeasuredModelCall {
  /** `provider/model`. */
  model: string;
  seconds: number;
  /** Absent: nothing was streamed. */
  firstChunkSeconds?: number | undefined;
  usage?: UsageStats | null | undefined;
  /** The agent on whose behalf it was made. Absent: no run has its answer. */
  agent?: string | undefined;
  /** Its cost in US dollars, if the provider has reported its usage and the price is known. */
  dollars?: number | undefined;
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
  status: string;
  stopReason: string;
}

/** What a run, or a turn of a session, has used. */
export interface MeasuredAnswer {
  agent: string;
  isWorkflow: boolean;
  seconds: number;
  modelCalls: number;
  toolCalls: number;
  dollars?: number | undefined;
  code?: string | undefined;
}

/** A request of the HTTP service, as it was answered. */
export interface MeasuredRequest {
  method: string;
  route: string;
  status: number;
  seconds: number;
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
  /** The bounded labels by requested labels: the same object each time, so that a page can look up its series by identity. */
  readonly #known = new Map<string, Attributes>();
  readonly #add = new Map<string, (value: number, labels?: Attributes) => void>();

  constructor(provider: MeterProvider) {
    const meter = provider.getMeter(SCOPE);
    for (const [name, instrument] of Object.entries(INSTRUMENTS))
      this.#add.set(name, recorderOf(meter, METRICS[name as Metric], instrument));
  }

  modelCall({ model, agent, seconds, firstChunkSeconds, usage, dollars, code }: MeasuredModelCall): void {
    const ofModel = { [A.operation]: OPERATIONS.model, ...modelLabels(model) };
    const labels = this.#bounded(ofModel);
    this.#record('inferenceDuration', seconds, code === undefined ? labels : this.#bounded({ ...ofModel, [A.errorType]: code }));
    if (firstChunkSeconds !== undefined) this.#record('firstChunk', firstChunkSeconds, labels);
    this.modelCost({ model, agent, dollars });
    if (usage === undefined || usage === null) return;
    const amounts: [metric: Metric, amount: number | undefined][] = [
      ['inputTokens', usage.promptTokens],
      ['outputTokens', usage.completionTokens],
      ['cacheRead', usage.cachedTokens],
      ['cacheWrite', usage.cacheWriteTokens],
      ['reasoningTokens', usage.reasoningTokens],
    ];
    for (const [metric, amount = 0] of amounts) if (amount > 0) this.#record(metric, amount, labels);
  }

  /** What a model call has cost, also one that has no span. */
  modelCost({ model, agent = NONE, dollars = 0 }: Pick<MeasuredModelCall, 'model' | 'agent' | 'dollars'>): void {
    if (dollars > 0) this.#record('modelCost', dollars, this.#bounded({ ...modelLabels(model), [A.agent]: agent }));
  }

  toolCall({ tool, agent, seconds, code }: MeasuredToolCall): void {
    this.#record('toolDuration', seconds, this.#bounded({ [A.tool]: tool, [A.agent]: agent, ...errorType(code) }));
  }

  runStarted(agent: string): void {
    this.#record('runsStarted', 1, this.#bounded({ [A.agent]: agent }));
  }

  runEnded({ agent, status, stopReason }: MeasuredRun): void {
    this.#record('runsEnded', 1, this.#bounded({ [A.agent]: agent, [A.status]: status, [A.stopReason]: stopReason }));
  }

  /** A run, or a turn of a session, has ended. */
  answered({ agent, isWorkflow, seconds, modelCalls, toolCalls, dollars, code }: MeasuredAnswer): void {
    const name = this.#bounded({ [A.agent]: agent });
    if (dollars !== undefined) this.#record('cost', dollars, name);
    if (isWorkflow) return;
    this.#record('agentDuration', seconds, this.#bounded({ [A.agent]: agent, ...errorType(code) }));
    this.#record('agentInferenceCalls', modelCalls, name);
    this.#record('agentToolCalls', toolCalls, name);
  }

  fallback({ from, to, code }: MeasuredFallback): void {
    this.#record('fallbacks', 1, this.#bounded({ [A.from]: from, [A.to]: to, [A.code]: code }));
  }

  /** A call has received its permit from the governor. `source`: `lent` ahead, or `granted` on request. */
  governorPermit({ provider, seconds, source }: { provider: string; seconds: number; source: 'lent' | 'granted' }): void {
    const labels = this.#bounded({ [A.provider]: provider });
    this.#record('governorWait', seconds, labels);
    this.#record('governorPermits', 1, this.#bounded({ [A.provider]: provider, [A.source]: source }));
  }

  /** A provider has refused a call that had a permit. */
  governorRefused(provider: string): void {
    this.#record('governorRefused', 1, this.#bounded({ [A.provider]: provider }));
  }

  /** A provider has requested a pause, in which nothing is sent to it. */
  governorHeld(provider: string, seconds: number): void {
    this.#record('governorHold', seconds, this.#bounded({ [A.provider]: provider }));
  }

  /** The calls that wait for a provider's batch, and its open batches, as reported by its collector. */
  batches(provider: string, { waiting, open }: { waiting: number; open: number }): void {
    const labels = this.#bounded({ [A.provider]: provider });
    this.#record('batchWaiting', waiting, labels);
    this.#record('batchOpen', open, labels);
  }

  /** A batch has ended. */
  batchEnded(provider: string, seconds: number): void {
    this.#record('batchAge', seconds, this.#bounded({ [A.provider]: provider }));
  }

  /** The provider has lost the cached prefix of a conversation, and reads it again at full price. */
  cacheLost(model: string): void {
    this.#record('cacheLost', 1, this.#bounded(modelLabels(model)));
  }

  /** Entries of the streams of runs were dropped. */
  streamDropped(entries: number): void {
    this.#record('streamDropped', entries);
  }

  /** The answer of a call that must not be repeated was lost, and nobody knows whether it has taken effect. */
  outcomeUnknown({ tool, agent }: { tool: string; agent: string }): void {
    this.#record('outcomesUnknown', 1, this.#bounded({ [A.tool]: tool, [A.agent]: agent }));
  }

  /** A store of the worker has failed. */
  storeFailed(store: string): void {
    this.#record('storeFailures', 1, this.#bounded({ [A.store]: store }));
  }

  /** Runs wait for a decision about a call, in the whole namespace. */
  approvalsWaiting(runs: number): void {
    this.#record('approvalsWaiting', runs);
  }

  /** A request of the HTTP service is answered. `route`: its path, with names instead of ids. */
  request({ method, route, status, seconds }: MeasuredRequest): void {
    const labels = this.#bounded({ [A.method]: method, [A.route]: route, [A.httpStatus]: String(status) });
    this.#record('httpDuration', seconds, labels);
  }

  dropped(count: number): void {
    this.#record('dropped', count);
  }

  #record(metric: Metric, value: number, labels: Attributes = {}): void {
    this.#add.get(metric)?.(value, labels);
  }

  /** Returns the labels, with `other` for values beyond the bound of a label. */
  #bounded(labels: Readonly<Record<string, string>>): Attributes {
    const asked = JSON.stringify(labels);
    const known = this.#known.get(asked);
    if (known !== undefined) return known;
    const bounded = Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, this.#boundedValue(label, value || NONE)]));
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(asked, bounded);
    return bounded;
  }

  #boundedValue(label: string, value: string): string {
    const known = this.#labels.get(label) ?? new Set();
    this.#labels.set(label, known);
    if (!known.has(value) && known.size >= MOST_VALUES) return OTHER;
    known.add(value);
    return value;
  }
}

function errorType(code: string | undefined): Record<string, string> {
  return code === undefined ? {} : { [A.errorType]: code };
}

/** Returns the function that adds a measurement to a metric. */
function recorderOf(
  meter: ApiMeter,
  name: string,
  { kind, unit, description, bounds }: Instrument,
): (value: number, labels?: Attributes) => void {
  const options = { description, ...defined({ unit }) };
  if (kind === 'gauge') {
    const gauge = meter.createGauge(name, options);
    return (value, labels) => gauge.record(value, labels);
  }
  if (kind === 'counter') {
    const counter = meter.createCounter(name, options);
    return (value, labels) => counter.add(value, labels);
  }
  const histogram = meter.createHistogram(name, {
    ...options,
    ...(bounds === undefined ? {} : { advice: { explicitBucketBoundaries: bounds } }),
  });
  return (value, labels) => histogram.record(value, labels);
}

/** Returns the attributes that name a model, given as `provider/model`. */
export function modelLabels(model: string): Record<string, string> {
  const { provider, id } = partsOfModelName(model);
  return { [A.provider]: provider, [A.requestModel]: id };
}
