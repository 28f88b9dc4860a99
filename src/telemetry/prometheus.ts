import type { ApiMeter, Attributes, MeterProvider } from './provider.ts';

/** The content type of the text. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The words for units at the end of names. Units in braces count things, and have none. */
const UNITS: Readonly<Record<string, string>> = { s: '_seconds' };

/** Milliseconds between two collections of external measurements. */
const READ_EVERY_MS = 1_000;

/** The buckets for durations in seconds, and sizes, that others measure. */
const CORE_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600, 3_600];

/** An external measurement. For a counter, the increase. */
export interface MeasuredElsewhere {
  metric: { name: string; kind: string; unit?: string | undefined };
  value: number;
  attributes: Readonly<Record<string, string | number | boolean>>;
}

/** One series of a counter, or of a histogram with its buckets. */
interface Series {
  labels: Attributes;
  sum: number;
  count: number;
  /** The number of values in each bucket: up to its bound, and above the previous one. */
  buckets: number[];
}

/** A metric with its series. */
interface Family {
  name: string;
  type: 'counter' | 'histogram' | 'gauge';
  help: string;
  /** Upper bounds of the buckets of a histogram. */
  bounds: readonly number[];
  series: Map<string, Series>;
  /** The same, by the objects that labels were given as: they are not changed. */
  found: WeakMap<Attributes, Series>;
}

/**
 * The metrics of a process as a page for Prometheus, without an SDK: give it to `telemetry()` as `meterProvider`, and answer `/metrics` with
 * `text()` and `contentType`.
 */
export class PrometheusMetrics implements MeterProvider {
  /** The content type of the page. */
  readonly contentType = CONTENT_TYPE;
  readonly #families = new Map<string, Family>();
  readonly #followed: (() => Iterable<MeasuredElsewhere>)[] = [];

  /** Used by `telemetry` to create instruments. @internal */
  getMeter(): ApiMeter {
    return {
      createCounter: (name, { unit = '', description } = {}) => {
        const family = this.#family({ help: description ?? name, name: `${baseName(name, unit)}_total`, type: 'counter', bounds: [] });
        return { add: (value, labels = {}) => add(family, value, labels) };
      },
      createHistogram: (name, { unit = '', description, advice = {} } = {}) => {
        const bounds = advice.explicitBucketBoundaries ?? [];
        const family = this.#family({ help: description ?? name, name: baseName(name, unit), type: 'histogram', bounds });
        return { record: (value, labels = {}) => add(family, value, labels) };
      },
      createGauge: (name, { unit = '', description } = {}) => {
        const family = this.#family({ help: description ?? name, name: baseName(name, unit), type: 'gauge', bounds: [] });
        return { record: (value, labels = {}) => set(family, value, labels) };
      },
    };
  }

  /** Adds a source of external measurements, which are collected before the page is shown and at least once a second. @internal */
  follow(updates: () => Iterable<MeasuredElsewhere>): void {
    this.#followed.push(updates);
    // A source that is not read keeps what it measures in a bounded buffer.
    if (this.#followed.length === 1) setInterval(() => this.#read(), READ_EVERY_MS).unref();
  }

  #read(): void {
    const meter = this.getMeter();
    for (const updates of this.#followed) {
      for (const { metric, value, attributes } of updates()) {
        const { name, kind, unit = '' } = metric;
        if (kind === 'counter') meter.createCounter(name, { unit }).add(value, labelsOf(attributes));
        else if (kind === 'gauge') meter.createGauge(name, { unit }).record(value, labelsOf(attributes));
        else meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: CORE_BOUNDS } }).record(value, labelsOf(attributes));
      }
    }
  }

  /** Returns the page: each metric with its series, in order of creation. */
  text(): string {
    this.#read();
    return [...this.#families.values()].map(familyText).join('');
  }

  #family(made: Omit<Family, 'series' | 'found'>): Family {
    const family = this.#families.get(made.name) ?? { ...made, series: new Map(), found: new WeakMap() };
    this.#families.set(made.name, family);
    return family;
  }
}

/** Returns metrics for Prometheus: `telemetry({ tracerProvider: 'none', meterProvider: prometheusMetrics() })`. */
export function prometheusMetrics(): PrometheusMetrics {
  return new PrometheusMetrics();
}

function labelsOf(attributes: MeasuredElsewhere['attributes']): Attributes {
  return { ...attributes };
}

function add(family: Family, value: number, labels: Attributes): void {
  // A counter never falls, and an invalid value would spoil every later one.
  if (!Number.isFinite(value) || value < 0) return;
  const one = family.found.get(labels) ?? findSeries(family, labels);
  one.sum += value;
  one.count += 1;
  const bucket = family.bounds.findIndex((bound) => value <= bound);
  if (bucket !== -1) one.buckets[bucket] = (one.buckets[bucket] ?? 0) + 1;
}

function findSeries({ series, found, bounds }: Family, labels: Attributes): Series {
  const key = seriesKey(labels);
  const one = series.get(key) ?? { labels, sum: 0, count: 0, buckets: bounds.map(() => 0) };
  series.set(key, one);
  found.set(labels, one);
  return one;
}

function set({ series }: Family, value: number, labels: Attributes): void {
  if (Number.isFinite(value)) series.set(seriesKey(labels), { labels, sum: value, count: 1, buckets: [] });
}

/** Returns the key of a series. Each call counts several times, so the text for the page is only made with the page. */
function seriesKey(labels: Attributes): string {
  let key = '';
  for (const [label, value] of Object.entries(labels)) key += `${label}\0${String(value)}\0`;
  return key;
}

function familyText({ name, type, help, bounds, series }: Family): string {
  const lines = [...series.values()].flatMap((one) => (type === 'histogram' ? histogramLines(name, one, bounds) : [valueLine(name, one)]));
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

function valueLine(name: string, { labels, sum }: Series): string {
  return `${name}${labelsText(labels)} ${sum}`;
}

function histogramLines(name: string, { labels, sum, count, buckets }: Series, bounds: readonly number[]): string[] {
  const own = labelsText(labels);
  let below = 0;
  return [
    // On the page, each bucket counts all values up to its bound.
    ...bounds.map((bound, index) => {
      below += buckets[index] ?? 0;
      return `${name}_bucket${labelsText({ ...labels, le: String(bound) })} ${below}`;
    }),
    `${name}_bucket${labelsText({ ...labels, le: '+Inf' })} ${count}`,
    `${name}_sum${own} ${sum}`,
    `${name}_count${own} ${count}`,
  ];
}

function baseName(name: string, unit: string): string {
  return `${safeName(name)}${UNITS[unit] ?? ''}`;
}

function safeName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_]/g, '_');
}

function labelsText(labels: Attributes): string {
  const written = Object.entries(labels).map(([label, value]) => `${safeName(label)}="${escaped(String(value))}"`);
  return written.length === 0 ? '' : `{${written.join(',')}}`;
}

function escaped(value: string): string {
  return value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);
}
