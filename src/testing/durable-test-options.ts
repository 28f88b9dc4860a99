import type { Duration } from '../core/domain/time.ts';
import type { CreateWorkerOptions } from '../../worker/create-worker.ts';
import type { TestOptions } from './tested-run.ts';

/** The options of a test on a server. */
export type DurableTestOptions<Agent = unknown> = TestOptions<Agent> & ServerOptions;

/** The options that only a test on a server has. */
export interface ServerOptions {
  /** `host:port` of a Temporal server. Default: `TEMPORAL_ADDRESS`, else a server started for this test. */
  address?: string;
  namespace?: string;
  /**
   * The time between two heartbeats. A call is considered lost after three missed ones. Default: 1 second if faults
   * lose calls, else 5.
   */
  heartbeatEvery?: Duration;
  /** Options of the Temporal Worker. */
  worker?: NonNullable<CreateWorkerOptions['worker']>;
}
