import { DefaultLogger, Runtime } from '@temporalio/worker';

/** The SDK logs every worker that starts and stops; only errors are printed here. Signals are handled by the programs themselves. */
export function quietRuntime({ core = 'ERROR' }: { core?: 'ERROR' | 'OFF' } = {}): void {
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: core } }, shutdownSignals: [] });
}
