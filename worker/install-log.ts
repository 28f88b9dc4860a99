import { DefaultLogger, MetricsBuffer, Runtime, type RuntimeOptions } from '@temporalio/worker';
import { UsageError } from '../src/core/domain/errors.ts';
import type { PrometheusMetrics } from '../src/telemetry/prometheus.ts';
import { chosenLog, type LogChoice, type LogOptions, logWriter } from '../src/log/log-writer.ts';

/** The log of this process, if a worker has installed it. */
let installed: LogChoice | undefined;

/**
 * Makes Temporal's SDK write the log of this process to stderr, as the options and the environment configure it. A
 * process has one log: an application that has installed a Runtime keeps it, and the first worker decides for
 * later ones. `page` also shows the measurements of Temporal's Core. Throws a UsageError for invalid options, and for options that
 * differ from the installed log.
 */
export function installLog(
  options: LogOptions,
  { otherwise, page }: { otherwise?: LogChoice; page?: PrometheusMetrics | undefined } = {},
): void {
  const choice = chosenLog(options, process.env, otherwise);
  if (installed === undefined && installRuntime(choice, page)) installed = choice;
  requireSame(options, choice);
}

/** Returns false if the application has a Runtime, or had one that the SDK would recreate. */
function installRuntime(choice: LogChoice, page: PrometheusMetrics | undefined): boolean {
  // oxlint-disable-next-line no-underscore-dangle -- the SDK has no other way to ask whether there is a Runtime
  if (Runtime._instance !== undefined || Object.keys(Runtime.defaultOptions).length > 0) return false;
  Runtime.install(runtimeOptions(choice, (text) => process.stderr.write(`${text}\n`), page));
  return true;
}

function requireSame({ logLevel, logFormat }: LogOptions, choice: LogChoice): void {
  if (logLevel === undefined && logFormat === undefined) return;
  if (installed === undefined) {
    throw new UsageError(
      'the worker: "logLevel" and "logFormat" cannot change the log of this process: a Runtime of Temporal was installed, or a connection made, before. Leave both out, or give the Runtime a logger',
    );
  }
  if (choice.level === installed.level && choice.format === installed.format) return;
  throw new UsageError(
    `the worker: "logLevel" and "logFormat" ask for ${choiceText(choice)}, and another worker of this process has chosen ${choiceText(installed)}: a process has one log`,
  );
}

function choiceText({ level, format }: LogChoice): string {
  return `${level} as ${format}`;
}

/**
 * Returns options that make Temporal's SDK log through `write` with the chosen level and format; of its Rust core, only
 * warnings and errors are logged. The page, if any, shows the core's measurements.
 */
export function runtimeOptions({ level, format }: LogChoice, write: (text: string) => void, page?: PrometheusMetrics): RuntimeOptions {
  const buffer = page && new MetricsBuffer({ useSecondsForDurations: true });
  if (buffer !== undefined) page?.follow(() => buffer.retrieveUpdates());
  return {
    logger: new DefaultLogger(level === 'OFF' ? 'ERROR' : level, logWriter({ level, format }, write)),
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      ...(buffer === undefined ? {} : { metrics: { buffer } }),
    },
  };
}
