import { LRUCache } from 'lru-cache';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from './run-access.ts';

/** The snapshots that this process has seen, by digest: equal digests mean equal content, whatever the run. */
export class SnapshotCache {
  readonly #snapshots = new LRUCache<string, AgentSnapshot>({ max: 500 });

  add(snapshot: AgentSnapshot): void {
    this.#snapshots.set(snapshot.digest, snapshot);
  }

  /** The snapshot of the run that the current activity belongs to; asks the run where this process has not seen it. */
  async load(run: OfRun, digest: string): Promise<AgentSnapshot> {
    const known = this.#snapshots.get(digest);
    if (known !== undefined) return known;
    const snapshot = await queryRun<AgentSnapshot>(run, QUERIES.snapshot, null);
    this.add(snapshot);
    return snapshot;
  }
}
