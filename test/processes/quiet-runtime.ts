import { DefaultLogger, Runtime } from '@temporalio/worker';

/** The SDK logs every worker that starts and stops; only errors are printed here. */
export function quietRuntime(): void {
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } } });
}
