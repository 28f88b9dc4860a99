import { UsageError } from '../../core/domain/errors.ts';
import { type MetricsServer, type ServedHealth, serveMetrics } from '../../telemetry/metrics-server.ts';
import { prometheusMetrics } from '../../telemetry/prometheus.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { defined } from '../../core/domain/json.ts';
import type { AgentsModule } from '../input-files.ts';
import type { MetricsFlags } from '../options.ts';
import type { Output } from '../output.ts';

/** The telemetry of a command, and its page of metrics. */
interface CommandTelemetry {
  /** Undefined: nothing is reported. */
  telemetry?: Telemetry;
  /** Shows the health of the worker on the server of the page. */
  created: (worker: MeasuredWorker) => void;
  /** Closes the page. */
  close: () => Promise<void>;
}

/** The part of a worker that the server of the page shows. */
interface MeasuredWorker {
  health(): Promise<object & { readonly ready: boolean }>;
}

/** The health of a worker that has not been created yet. */
const STARTING = { ready: false, state: 'STARTING' } as const;

/**
 * Returns the telemetry of a worker or a service: the module's, or with `--metrics-port` one with a page for Prometheus. Throws a
 * UsageError if the module sends its metrics elsewhere, and for an address without a port.
 */
export async function commandTelemetry(
  output: Pick<Output, 'note'>,
  { metricsPort: port, metricsHost: host }: MetricsFlags,
  { agentsModule, hasWorker }: { agentsModule: Pick<AgentsModule, 'telemetry'> | undefined; hasWorker: boolean },
): Promise<CommandTelemetry> {
  const given = agentsModule?.telemetry;
  if (port === undefined && host !== undefined)
    throw new UsageError('--metrics-host: it is the address of the metrics, which need a port: add --metrics-port 9464');
  if (port === undefined) return { ...defined({ telemetry: given }), created: () => undefined, close: async () => undefined };
  const telemetry = given ?? (await metricsAlone());
  const { page } = telemetry;
  if (page === undefined)
    throw new UsageError(
      '--metrics-port: the "telemetry" of the module has its own meter provider: leave the flag out, or give it prometheusMetrics()',
    );
  let worker: MeasuredWorker | undefined;
  const health = async (): Promise<ServedHealth> => ({ ...(worker === undefined ? STARTING : await worker.health()) });
  const server: MetricsServer = await serveMetrics(page, { port, ...defined({ host }), ...(hasWorker ? { health } : {}) });
  output.note(`Metrics: ${server.url}`);
  return { telemetry, created: (made) => (worker = made), close: () => server.close() };
}

/** Returns metrics, and spans if the environment names a collector for them. */
async function metricsAlone(): Promise<Telemetry> {
  const { telemetry } = await import('../../telemetry/telemetry.ts');
  const hasCollector = Boolean(process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] || process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
  return telemetry({ meterProvider: prometheusMetrics(), ...(hasCollector ? {} : { tracerProvider: 'none' }) });
}
