import type { ContinueAsNewThresholds } from '../src/domain/continue-as-new.ts';
import type { Resources } from '../src/define/run-context.ts';
import type { ArchiveSink } from '../src/archive/archive-sink.ts';
import type { PayloadStore } from '../src/payload-store/payload-store.ts';
import type { AbortRegistry } from './abort-registry.ts';
import type { AgentRegistry } from './agent-registry.ts';
import type { SnapshotCache } from './run-snapshot.ts';
import type { TranscriptCache } from './transcript.ts';

/** What the activities of one worker share. */
export interface ActivityRuntime {
  registry: AgentRegistry;
  resources: Resources;
  /** Where results go that are too large, where a tool spills. */
  payloadStore: PayloadStore | undefined;
  /** Where events go that a run leaves behind. */
  archive: ArchiveSink | undefined;
  transcripts: TranscriptCache;
  snapshots: SnapshotCache;
  aborts: AbortRegistry;
  /** When runs continue as new, where the worker says something else than the default. */
  continueAsNew: ContinueAsNewThresholds | undefined;
  /** Runs are pinned to the worker's build, and move to the current one where they continue as new. */
  upgradeOnContinueAsNew: boolean;
  /** Milliseconds between two heartbeats. */
  heartbeatMs: number;
  /** Whether the namespace has Longhaul's search attributes, once the worker knows. */
  searchAttributes: () => Promise<boolean>;
}
