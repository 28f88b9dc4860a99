import { fileURLToPath } from 'node:url';
import { KillableProcess } from '../../processes/program-process.ts';

/** The settings of a worker's process, passed as the JSON of its first argument. */
export interface WorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
  /** The file that effects are written to. */
  ledger: string;
  /** The number of cached runs; the default of the SDK if it is left out. */
  cached?: number;
  /** The number of history events after which a run continues as new; the default if it is left out. */
  eventsOfExecution?: number;
  /** True: the time-outs are those of the product. Otherwise the death of a worker is noticed soon. */
  isPatient?: boolean;
}

const PROGRAM = fileURLToPath(new URL('worker-process.ts', import.meta.url));

/** A worker in a process of its own: it can be killed and replaced. */
export class StormWorker extends KillableProcess {
  constructor(setting: WorkerSetting) {
    super(PROGRAM, setting);
  }
}
