import { LRUCache } from 'lru-cache';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from './access.ts';

/** Snapshots known to this process, by digest: equal digests mean equal content, across runs. */
export class SnapshotCache {
  readonly #snapshots = new LRUCache<string, AgentSnapshot>({ max: 500 });

  add(snapshot: AgentSnapshot): void {
    this.#snapshots.set(snapshot.digest, snapshot);
  }

  /** Returns a snapshot if this process has it. */
  known(digest: string): AgentSnapshot | undefined {
    return this.#snapshots.get(digest);
  }

  /** Returns the snapshot of the run that the current activity belongs to. Queries the run if this process does not have it. */
  async load(run: OfRun, digest: string): Promise<AgentSnapshot> {
    const known = this.known(digest);
    if (known !== undefined) return known;
    const snapshot = await queryRun<AgentSnapshot>(run, QUERIES.snapshot, null);
    this.add(snapshot);
    return snapshot;
  }
}
