import type { ContinueAsNewThresholds } from '../src/core/domain/run/continue-as-new.ts';
import type { AuthorizeDecision, NotifyWaiting } from '../src/define/decision-hooks.ts';
import type { NotifyEnded } from '../src/define/ended-hook.ts';
import type { ArchiveSink } from '../src/archive/archive-sink.ts';
import type { PriceTable } from '../src/model/prices.ts';
import type { PayloadStore } from '../src/payload-store/payload-store.ts';
import type { AbortRegistry } from './attempts/abort-registry.ts';
import type { AgentRegistry } from './agents/agent-registry.ts';
import type { McpPool } from './mcp/mcp-pool.ts';
import type { ResourcePool } from './resources/resource-pool.ts';
import type { SnapshotCache } from './run-queries/run-snapshot.ts';
import type { SecretVault } from './secrets/secret-vault.ts';
import type { ToolSemaphore } from './tool-calls/tool-semaphore.ts';
import type { TranscriptCache } from './run-queries/transcript.ts';
import type { MissingNames } from './attempts/waited-for.ts';

/** What the activities of one worker share. */
export interface ActivityRuntime {
  registry: AgentRegistry;
  /** The live objects of the worker. */
  resourcePool: ResourcePool;
  /** Reads secrets, and takes those that were read out of what tools hand on. */
  secrets: SecretVault;
  /** The connections to MCP servers. */
  mcp: McpPool;
  /** Names that no tool of an MCP server may get: the activities that the worker has beside Longhaul's. */
  otherActivities: Set<string>;
  /** Where results go that are too large, where a tool spills. */
  payloadStore: PayloadStore | undefined;
  /** Where events go that a run leaves behind. */
  archive: ArchiveSink | undefined;
  /** Milliseconds that an archive which fails may hold a run back. */
  archiveTimeoutMs: number;
  /** Checks who decides. */
  authorize: AuthorizeDecision | undefined;
  /** Tells somebody that something waits. */
  notify: NotifyWaiting | undefined;
  /** Tells somebody that a run has ended. */
  notifyEnded?: NotifyEnded | undefined;
  /** Milliseconds that it may hold back the end of a run where it fails. */
  notifyEndedTimeoutMs?: number;
  /** Prices that come before those of the list. */
  prices: PriceTable;
  transcripts: TranscriptCache;
  snapshots: SnapshotCache;
  aborts: AbortRegistry;
  turns: ToolSemaphore;
  /** When runs continue as new, where the worker says something else than the default. */
  continueAsNew: ContinueAsNewThresholds | undefined;
  /** Runs are pinned to the worker's build, and move to the current one where they continue as new. */
  upgradeOnContinueAsNew: boolean;
  /** The worker as Temporal knows it: `pid@host` by default. */
  identity: string;
  /** Milliseconds that a run waits for a worker which has what this one lacks. */
  missingTimeoutMs: number;
  /** Tools that runs have waited for in vain, by run and name. */
  waitedFor: MissingNames;
  /** Milliseconds between two heartbeats. */
  heartbeatMs: number;
  /** Which of Longhaul's search attributes the namespace has, once the worker knows. */
  searchAttributes: () => Promise<KnownSearchAttributes>;
}

/** Which search attributes a namespace has: only those may be upserted. */
export interface KnownSearchAttributes {
  /** `LonghaulAgent` and `LonghaulStatus`. */
  agentAndStatus: boolean;
  /** `LonghaulWaitingFor`. */
  waitingFor: boolean;
  /** `LonghaulTag`. */
  tag?: boolean;
}
