import { UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { withoutEnd } from '../core/domain/text.ts';
import { SCOPE } from './names.ts';
import type { OtlpTarget } from './otlp-provider.ts';

/**
 * The settings in OpenTelemetry's `OTEL_*` variables. Reading a field throws a UsageError if its variables are not supported: they may be
 * meant for an SDK, and then the field is never read.
 */
export interface OtelEnvironment {
  /** False: no spans are made (`OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER=none`). */
  readonly hasSpans: boolean;
  /** Where spans go without an SDK. Undefined: the variables name no collector. */
  readonly target: OtlpTarget | undefined;
  /** The fraction of traces to record. Undefined if not set. */
  readonly ratio: number | undefined;
  /** Where a page for Prometheus is served. Undefined: nowhere (`OTEL_METRICS_EXPORTER` is not `prometheus`). */
  readonly page: { host: string; port: number } | undefined;
}

const PROMETHEUS = { host: 'localhost', port: '9464' };

/** Reads the `OTEL_*` variables. An empty one is not set, as OpenTelemetry says: Compose files write `OTEL_…: ${OTEL_…:-}`. */
export function otelEnvironment(variables: Readonly<Record<string, string | undefined>>): OtelEnvironment {
  const env = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const isDisabled = env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true';
  const hasPage = env['OTEL_METRICS_EXPORTER'] === 'prometheus' && !isDisabled;
  return {
    hasSpans: !isDisabled && env['OTEL_TRACES_EXPORTER'] !== 'none',
    get target() {
      return targetOf(env);
    },
    get ratio() {
      return ratioOf(env);
    },
    get page() {
      return hasPage ? pageAddress(env) : undefined;
    },
  };
}

function targetOf(env: Readonly<Record<string, string | undefined>>): OtlpTarget | undefined {
  const whole = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const url = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? (whole && `${withoutEnd(whole, '/')}/v1/traces`);
  if (!url) return undefined;
  if (!URL.canParse(url))
    throw new UsageError(`telemetry: "${url}" of OTEL_EXPORTER_OTLP_ENDPOINT is not a URL: write http://localhost:4318`);
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'];
  if (protocol === 'grpc')
    throw new UsageError(
      'telemetry: OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", and Longhaul sends spans over HTTP: write "http/protobuf" or "http/json" with the port of the collector for HTTP (4318), or give an SDK as "tracerProvider"',
    );
  const headers = pairs(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS']);
  const name = env['OTEL_SERVICE_NAME'];
  const resource = { 'service.name': SCOPE, ...pairs(env['OTEL_RESOURCE_ATTRIBUTES']), ...(name ? { 'service.name': name } : {}) };
  const forms = { 'http/json': 'json', 'http/protobuf': 'binary' } as const;
  const form = protocol === 'http/json' || protocol === 'http/protobuf' ? forms[protocol] : undefined;
  return { url, headers, resource, ...defined({ form }) };
}

/** Parses `key=value,key=value` with percent-encoded values. */
function pairs(text = ''): Record<string, string> {
  const all = text.split(',').map((pair) => pair.split('='));
  return Object.fromEntries(
    all.flatMap(([key = '', ...rest]) => (key.trim() === '' ? [] : [[key.trim(), decoded(rest.join('=').trim())]])),
  );
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function ratioOf(env: Readonly<Record<string, string | undefined>>): number | undefined {
  const sampler = env['OTEL_TRACES_SAMPLER']?.replace(/^parentbased_/, '');
  if (sampler === undefined) return undefined;
  if (sampler === 'always_on') return 1;
  if (sampler === 'always_off') return 0;
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? '1');
  if (sampler === 'traceidratio' && ratio >= 0 && ratio <= 1) return ratio;
  throw new UsageError(
    `telemetry: OTEL_TRACES_SAMPLER is "${env['OTEL_TRACES_SAMPLER']}" with "${env['OTEL_TRACES_SAMPLER_ARG'] ?? ''}": write always_on, always_off, or traceidratio with OTEL_TRACES_SAMPLER_ARG from 0 to 1, or give "sampleRatio" to telemetry()`,
  );
}

function pageAddress(env: Readonly<Record<string, string | undefined>>): { host: string; port: number } {
  const port = env['OTEL_EXPORTER_PROMETHEUS_PORT'] ?? PROMETHEUS.port;
  if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535)
    return { host: env['OTEL_EXPORTER_PROMETHEUS_HOST'] ?? PROMETHEUS.host, port: Number(port) };
  throw new UsageError(`telemetry: OTEL_EXPORTER_PROMETHEUS_PORT is "${port}": write the number of a port`);
}
