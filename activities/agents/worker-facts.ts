import type { PriceTable } from '../../src/model/prices.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { CommonInputs } from './build-snapshot.ts';

/** The facts about a worker that a snapshot pins. */
type WorkerFacts = Pick<
  CommonInputs,
  'authorize' | 'notify' | 'notifyEnded' | 'continueAsNew' | 'archive' | 'upgradeOnContinueAsNew' | 'heartbeatMs'
> & { prices: PriceTable };

/** Returns the facts about a worker that the snapshots of its agents and programs pin. */
export function workerFacts(runtime: ActivityRuntime): WorkerFacts {
  const { heartbeatMs, prices, continueAsNew, upgradeOnContinueAsNew } = runtime;
  return {
    heartbeatMs,
    authorize: runtime.authorize !== undefined,
    notify: runtime.notify !== undefined,
    notifyEnded: runtime.notifyEnded !== undefined,
    prices,
    continueAsNew,
    archive: runtime.archive !== undefined,
    upgradeOnContinueAsNew,
  };
}
