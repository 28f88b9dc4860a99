import { hostname } from 'node:os';
import type { ArchiveSink } from '../src/archive/archive-sink.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import type { AuthorizeDecision, NotifyWaiting } from '../src/define/decision-hooks.ts';
import type { NotifyEnded } from '../src/define/ended-hook.ts';
import { requireKnown, wholeNumber } from '../src/define/options/option-checks.ts';
import type { Resources } from '../src/define/run-context.ts';
import { type ContinueAsNewThresholds, DEFAULT_THRESHOLDS } from '../src/core/domain/run/continue-as-new.ts';
import { type Duration, milliseconds, timerMilliseconds } from '../src/core/domain/run/duration.ts';
import { UsageError } from '../src/core/domain/errors/error.ts';
import { DEFAULT_MISSING_TIMEOUT_MS } from '../src/core/domain/errors/missing.ts';
import type { ModelClient } from '../src/core/domain/model/model.ts';
import type { ModelPrice } from '../src/core/domain/model/price.ts';
import type { PayloadStore } from '../src/payload-store/payload-store.ts';
import type { SecretSource } from '../src/secrets/secret-source.ts';
import { AbortRegistry } from './attempts/abort-registry.ts';
import { AgentRegistry } from './agents/agent-registry.ts';
import { checkedPrices } from './agents/checked-prices.ts';
import { workerPool } from './mcp/worker-pool.ts';
import { DEFAULT_NOTIFY_ENDED_MS } from './hooks/notify-ended.ts';
import { SnapshotCache } from './run-queries/run-snapshot.ts';
import type { ActivityRuntime } from './runtime.ts';
import { SecretVault } from './secrets/secret-vault.ts';
import { ToolSemaphore } from './tool-calls/tool-semaphore.ts';
import { TranscriptCache } from './run-queries/transcript.ts';
import { MissingNames } from './attempts/waited-for.ts';
import { workerResources } from './resources/worker-resources.ts';

/** What the activities of a worker are made of. */
export interface RuntimeOptions {
  agents: readonly AnyAgent[];
  /** Model clients by the name that agents use before the slash of `provider/model`. */
  providers: Readonly<Record<string, ModelClient>>;
  /**
   * Live objects that tools receive as `context.resources`: any value as it is, and what `resource()` makes, which the
   * worker opens before it polls, looks after, and closes when it has drained.
   */
  resources?: Resources;
  /** Where `context.secret(name)` reads: the first that has the secret counts. Default: the environment, `crm-token` in `CRM_TOKEN`. */
  secrets?: SecretSource | readonly SecretSource[];
  /** Where results go that are too large for the conversation, for tools with `overflow: 'spill'`. */
  payloadStore?: PayloadStore;
  /** Keeps what runs leave behind, so that nothing depends on how long the server keeps histories. Runs that begin on this worker are archived. */
  archive?: ArchiveSink;
  /** How long an archive which fails, or does not answer, may hold back the end of a run or its next execution: the run then goes on, and says what is not in the archive. Default 5 minutes. */
  archiveTimeout?: Duration;
  /** Says who decides about a call, or that they may not: called with every decision before it is applied. Without it `by` is recorded as claimed. */
  authorize?: AuthorizeDecision;
  /** Told what begins to wait for a decision: at least once, with an id that stays the same. */
  notify?: NotifyWaiting;
  /** Told how a run has ended, before its workflow closes: at least once, with an id that stays the same. */
  notifyEnded?: NotifyEnded;
  /** How long `notifyEnded`, where it fails or does not answer, may hold back the end of a run. Default 5 minutes. */
  notifyEndedTimeout?: Duration;
  /** What models cost, by `provider/model`, in US dollars per million tokens: comes before the list prices that Longhaul knows. */
  prices?: Readonly<Record<string, ModelPrice>>;
  /** When a run goes on in a new execution: what one execution may hold. Default: 3,600 events, 3,400,000 bytes, 1,000 Updates; what the server suggests counts in any case. */
  continueAsNew?: Partial<ContinueAsNewThresholds>;
  /**
   * How long a run waits for another worker of the task queue which has what this one lacks (an agent, a provider, a tool),
   * before it ends with `unknown_agent`, `unknown_provider` or `unknown_tool`: as long as a deploy may take. Milliseconds,
   * or a text such as `30s`. Default 10 minutes.
   */
  missingTimeout?: Duration;
  /** The time between two heartbeats of a call in flight: so long a cancellation takes to reach it from another process. Default 5 seconds. */
  heartbeatEvery?: Duration;
  /** Characters of conversation that this process keeps in memory. Default 64 million. */
  transcriptCacheSize?: number;
}

/** What the worker around the activities knows. */
export interface RuntimeSurroundings extends Pick<ActivityRuntime, 'searchAttributes' | 'upgradeOnContinueAsNew'> {
  /** Told what somebody who runs the worker should know. */
  log: (line: string) => void;
}

const DEFAULT_TRANSCRIPT_CACHE_SIZE = 64_000_000;

/**
 * What the activities of a worker share, made of its options. Nothing is opened or read before an activity needs it.
 * Throws a UsageError for duplicate agents, missing providers, prices that are none, a tool that spills without a payload
 * store, and tools that need a resource which is missing.
 */
export function createRuntime(options: RuntimeOptions, surroundings: RuntimeSurroundings): ActivityRuntime {
  requireStore(options);
  const { agents } = options;
  const { log, searchAttributes, upgradeOnContinueAsNew } = surroundings;
  const secrets = new SecretVault(options.secrets);
  const resourcePool = workerResources(options.resources ?? {}, { agents, secrets, log });
  return {
    registry: new AgentRegistry(agents, options.providers),
    resourcePool,
    secrets,
    mcp: workerPool(secrets, log),
    otherActivities: new Set(),
    payloadStore: options.payloadStore,
    archive: options.archive,
    archiveTimeoutMs: timerMilliseconds(options.archiveTimeout ?? '5m', 'the worker: "archiveTimeout"'),
    authorize: hook('authorize', options.authorize),
    notify: hook('notify', options.notify),
    notifyEnded: hook('notifyEnded', options.notifyEnded),
    notifyEndedTimeoutMs: timerMilliseconds(options.notifyEndedTimeout ?? DEFAULT_NOTIFY_ENDED_MS, 'the worker: "notifyEndedTimeout"'),
    prices: checkedPrices(options.prices ?? {}),
    transcripts: new TranscriptCache(options.transcriptCacheSize ?? DEFAULT_TRANSCRIPT_CACHE_SIZE),
    snapshots: new SnapshotCache(),
    aborts: new AbortRegistry(),
    turns: new ToolSemaphore(),
    continueAsNew: thresholds(options.continueAsNew),
    upgradeOnContinueAsNew,
    identity: `${process.pid}@${hostname()}`,
    waitedFor: new MissingNames(),
    missingTimeoutMs: milliseconds(options.missingTimeout ?? DEFAULT_MISSING_TIMEOUT_MS, 'the worker: "missingTimeout"'),
    heartbeatMs: timerMilliseconds(options.heartbeatEvery ?? '5s', 'the worker: "heartbeatEvery"'),
    searchAttributes,
  };
}

/** A hook of the worker. Throws a UsageError for what is no function: decisions and notices would fail, one by one. */
function hook<Hook extends AuthorizeDecision | NotifyWaiting | NotifyEnded>(name: string, given: Hook | undefined): Hook | undefined {
  if (given === undefined || typeof given === 'function') return given;
  throw new UsageError(`the worker: "${name}" is ${JSON.stringify(given)}: write a function`);
}

/** Every threshold of a run, where one is set. Throws a UsageError for one that is no whole number of at least 1. */
function thresholds(given: Partial<ContinueAsNewThresholds> | undefined): ContinueAsNewThresholds | undefined {
  if (given === undefined) return undefined;
  requireKnown('the worker: "continueAsNew"', given, Object.keys(DEFAULT_THRESHOLDS));
  for (const [name, value] of Object.entries(given)) wholeNumber(`the worker: "continueAsNew.${name}"`, value, 1);
  return { ...DEFAULT_THRESHOLDS, ...given };
}

/** Found out when a result is too large, the lack of a store would cost the result. */
function requireStore({ agents, payloadStore }: RuntimeOptions): void {
  if (payloadStore !== undefined) return;
  for (const agent of agents) {
    const spilling = [
      ...agent.tools.map((tool) => ({ what: `tool "${tool.name}"`, overflow: tool.overflow })),
      ...(agent.mcp ?? []).map((server) => ({ what: `MCP server "${server.name}"`, overflow: server.overflow })),
    ].find(({ overflow }) => overflow === 'spill');
    if (spilling === undefined) continue;
    throw new UsageError(
      `${spilling.what} of agent "${agent.name}" has "overflow": "spill", but the worker has no "payloadStore": give it one, such as fileStore({directory})`,
    );
  }
}
