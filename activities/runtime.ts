import type { AgentSnapshot } from '../src/core/domain/agent.ts';
import { defined } from '../src/core/domain/json.ts';
import type { ModelCallContext } from '../src/core/domain/model.ts';
import type { ContinueAsNewThresholds } from '../src/core/domain/run.ts';
import { type DataInput, type DataView, type OfRun, QUERIES } from '../src/core/protocol.ts';
import type { AuthorizeDecision, NotifyEnded, NotifyWaiting } from '../src/define/approvals.ts';
import type { MemoryStore } from '../src/memory/memory-store.ts';
import type { PriceTable } from '../src/model/models.ts';
import type { ArchiveSink } from '../src/stores/file-archive.ts';
import type { PayloadStore } from '../src/stores/payload-store.ts';
import type { AgentRegistry } from './agents/agent-registry.ts';
import type { AbortRegistry } from './attempts/attempt.ts';
import type { MissingNames } from './attempts/failure.ts';
import type { WorkerBatches } from './batch/worker-batches.ts';
import type { NamespaceCache } from './code/namespace.ts';
import type { CreateExecutor } from './executors/create-executor.ts';
import type { WorkerGovernor } from './governor/worker-governor.ts';
import type { McpPool } from './mcp/mcp-pool.ts';
import type { AnchorRegistry, ProgramRegistry } from './programs/program-registry.ts';
import type { StepValuesCache } from './programs/step-values.ts';
import type { ResourcePool } from './resources/resource-pool.ts';
import type { SentRequests } from './model-calls/sent-requests.ts';
import { type PrincipalCache, queryRun, type SnapshotCache } from './run-queries/query-run.ts';
import type { Conversations, TranscriptCache } from './run-queries/transcript.ts';
import type { SecretVault } from './secret-vault.ts';
import type { WorkerSkills } from './skills/worker-skills.ts';
import type { WorkerStreams } from './streams/worker-streams.ts';
import type { WorkerTelemetry } from './telemetry/call-spans.ts';
import type { ToolSemaphore } from './tool-calls/execute-tool.ts';

/** The state that the activities of one worker share. */
export interface ActivityRuntime {
  registry: AgentRegistry;
  /** The skills of the agents, read when the worker started. */
  skills: WorkerSkills;
  /** The live objects of the worker. */
  resourcePool: ResourcePool;
  /** Reads secrets, and redacts the values it has read from the output of tools. */
  secrets: SecretVault;
  /** The connections to MCP servers. */
  mcp: McpPool;
  /** Names of the worker's own activities, which no MCP tool may have. */
  otherActivities: Set<string>;
  /** Stores results that are too large, for tools that spill. Large outputs of programs are stored by `stepValues`. */
  payloadStore: PayloadStore | undefined;
  /** Keeps the events and steps of runs. */
  archive: ArchiveSink | undefined;
  /** Milliseconds that a failing archive may delay a run. */
  archiveTimeoutMs: number;
  /** Carries the live output of runs to readers. */
  streams?: WorkerStreams | undefined;
  /**
   * The batches of its providers. Absent: calls of every tier are made at once, as in the test kit, where without a server no call can
   * wait.
   */
  batches?: WorkerBatches;
  /** Reports spans and metrics. */
  telemetry?: WorkerTelemetry | undefined;
  /** Enforces the providers' limits on model calls. Absent: there are none. */
  governor?: WorkerGovernor | undefined;
  /** Checks the author of each decision. */
  authorize: AuthorizeDecision | undefined;
  /** Called when a call waits for a decision. */
  notify: NotifyWaiting | undefined;
  /** Called when a run has ended. */
  notifyEnded?: NotifyEnded | undefined;
  /** Milliseconds that a failing `notifyEnded` may delay the end of a run. */
  notifyEndedTimeoutMs?: number;
  /** Prices that take precedence over the list. */
  prices: PriceTable;
  /** This process's cache of conversations. */
  transcripts: TranscriptCache;
  conversations: Conversations;
  /** The last requests to providers that cache prompts. */
  sentRequests: SentRequests;
  /** The programs of the worker, the anchors and the memory of their steps, and the values that steps have produced. */
  programs: ProgramRegistry;
  anchors: AnchorRegistry;
  memory: MemoryStore | undefined;
  stepValues: StepValuesCache;
  snapshots: SnapshotCache;
  principals: PrincipalCache;
  /** Creates the executors of code, and keeps them with their runs' names and values. */
  createExecutor: CreateExecutor;
  namespaces: NamespaceCache;
  aborts: AbortRegistry;
  /** True once the worker takes no more tasks. */
  isStopping: () => boolean;
  toolSemaphore: ToolSemaphore;
  /** Thresholds for continue-as-new, if the worker sets its own. */
  continueAsNew: ContinueAsNewThresholds | undefined;
  /** True if runs are pinned to the worker's build, and move to the current one when they continue as new. */
  upgradeOnContinueAsNew: boolean;
  /** The worker's identity in Temporal: `pid@host` by default. */
  identity: string;
  /** Milliseconds that a run waits for another worker if this one lacks something. */
  missingTimeoutMs: number;
  /** Tools that runs have waited for in vain, by run and name. */
  missingNames: MissingNames;
  /** Milliseconds between two checks that a program's child is still running. */
  childCheckMs?: number;
  /** Milliseconds between two heartbeats. */
  heartbeatMs: number;
  /** Logs a line in the worker's log, only once for equal lines. */
  logOnce: (line: string) => void;
  /** Resolves with the search attributes of the namespace, once they are known. */
  searchAttributes: () => Promise<KnownSearchAttributes>;
}

/** The search attributes of a namespace: only these may be upserted. */
export interface KnownSearchAttributes {
  /** `LonghaulAgent` and `LonghaulStatus`. */
  agentAndStatus: boolean;
  /** `LonghaulWaitingFor`. */
  waitingFor: boolean;
  /** `LonghaulTag`. */
  tag?: boolean;
  /** `LonghaulStarted`. */
  started?: boolean;
}

/** Returns deps, state and principal of a run, from the input of an activity, otherwise by query. */
export async function dataFor({ principals }: Pick<ActivityRuntime, 'principals'>, input: OfRun & DataInput): Promise<DataView> {
  const ask = (): Promise<DataView> => queryRun<DataView>(input, QUERIES.data, null);
  if (input.dataByReference) return ask();
  const { deps = {}, state = {} } = input;
  const principal = input.principal === true ? await principals.of(input, async () => (await ask()).principal) : input.principal;
  return { deps, state, ...defined({ principal }) };
}

/** Returns the facts about the run for choosing a provider's API key. */
export function providerContext({ secrets }: ActivityRuntime, { tags }: AgentSnapshot): Pick<ModelCallContext, 'tags' | 'secret'> {
  return { ...defined({ tags }), secret: secrets.reader() };
}

/** Returns the memory of a worker's agents, or undefined. */
export function memoryOf({ memory }: Pick<ActivityRuntime, 'memory'>): MemoryStore | undefined {
  return memory;
}
