import { DefaultLogger, Runtime } from '@temporalio/worker';

/** The SDK tells of every worker that starts and stops; what is printed here has to be worth reading. */
export function quietRuntime(): void {
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } } });
}
