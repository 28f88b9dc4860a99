import type { Duration } from '../core/domain/run/duration.ts';
import type { CreateWorkerOptions } from '../../worker/create-worker.ts';
import type { TestOptions } from './tested-run.ts';

/** What a test says about a run on a server. */
export type DurableTestOptions<Agent = unknown> = TestOptions<Agent> & ServerOptions;

/** What it says beside what it says about any run. */
export interface ServerOptions {
  /** `host:port` of a Temporal server. Default: `TEMPORAL_ADDRESS`, else a server that is started for this test. */
  address?: string;
  namespace?: string;
  /** The time between two heartbeats: three missed ones, and a call is taken for lost. Default 1 second where faults lose calls, else 5. */
  heartbeatEvery?: Duration;
  /** Options of the Temporal Worker. */
  worker?: NonNullable<CreateWorkerOptions['worker']>;
}
