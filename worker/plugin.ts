import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, InjectedSinks, ReplayWorkerOptions, Worker, WorkerOptions } from '@temporalio/worker';
import { Runtime } from '@temporalio/worker';
import { AbortRegistry } from '../activities/abort-registry.ts';
import { AgentRegistry } from '../activities/agent-registry.ts';
import { createActivities } from '../activities/index.ts';
import { workerPool } from '../activities/mcp/worker-pool.ts';
import { SnapshotCache } from '../activities/run-snapshot.ts';
import type { ResourceHealth } from '../activities/live-resource.ts';
import type { ActivityRuntime, KnownSearchAttributes } from '../activities/runtime.ts';
import { SecretVault } from '../activities/secret-vault.ts';
import { ToolTurns } from '../activities/tool-turns.ts';
import { TranscriptCache } from '../activities/transcript.ts';
import type { ArchiveSink } from '../src/archive/archive-sink.ts';
import type { CodecOptions } from '../src/codec/codec-options.ts';
import { FAILURE_CONVERTER_PATH, withCodec } from '../src/codec/with-codec.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import type { AuthorizeDecision, NotifyWaiting } from '../src/define/decision-hooks.ts';
import { requireKnown, wholeNumber } from '../src/define/option-checks.ts';
import type { Resources } from '../src/define/run-context.ts';
import { type ContinueAsNewThresholds, DEFAULT_THRESHOLDS } from '../src/domain/continue-as-new.ts';
import { UsageError } from '../src/domain/error.ts';
import type { ModelClient } from '../src/domain/model.ts';
import type { ModelPrice } from '../src/domain/price.ts';
import type { PayloadStore } from '../src/payload-store/payload-store.ts';
import type { SecretSource } from '../src/secrets/secret-source.ts';
import type { LonghaulSinks } from '../workflows/cancel-sink.ts';
import { otherActivities } from './other-activities.ts';
import { checkedPrices } from './checked-prices.ts';
import { CANCELLATION_MODULE, combinedWorkflows, resolveSdk } from './combined-workflows.ts';
import { requireEncodedFailures } from './encoded-failures.ts';
import { ensureSearchAttributes, type SearchAttributeAccess } from './search-attributes.ts';
import { deploymentOptions, requireSupport, type SystemInfoAccess, type Versioning } from './versioning.ts';
import { workerResources } from './worker-resources.ts';

/** What a worker needs in order to run agents. */
export interface LonghaulPluginOptions {
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
  /** Says who decides about a call, or that they may not: called with every decision before it is applied. Without it `by` is recorded as claimed. */
  authorize?: AuthorizeDecision;
  /** Told what begins to wait for a decision: at least once, with an id that stays the same. */
  notify?: NotifyWaiting;
  /** What models cost, by `provider/model`, in US dollars per million tokens: comes before the list prices that Longhaul knows. */
  prices?: Readonly<Record<string, ModelPrice>>;
  /** Compression and encryption of what is stored; the clients need the same. What is encoded is read in any case. */
  codec?: CodecOptions;
  /** Ties the worker to one build of your code, and says what becomes of runs in flight when there is another. Default: no versions. */
  versioning?: Versioning;
  /** When a run goes on in a new execution: what one execution may hold. Default: 3,600 events, 3,400,000 bytes, 1,000 Updates; what the server suggests counts in any case. */
  continueAsNew?: Partial<ContinueAsNewThresholds>;
  /** Milliseconds between two heartbeats of a call in flight: the time a cancellation takes to reach it from another process. Default 5,000. */
  heartbeatMs?: number;
  /** Characters of conversation that this process keeps in memory. Default 64 million. */
  transcriptCacheSize?: number;
}

const DEFAULT_HEARTBEAT_MS = 5_000;
const DEFAULT_TRANSCRIPT_CACHE_SIZE = 64_000_000;

/**
 * Adds Longhaul to a Worker that a team already has: `Worker.create({…, plugins: [new LonghaulPlugin({agents, providers})]})`.
 * It brings the `agentRun` workflow beside the worker's own, the activities, and the fast way of a cancellation.
 * A bundle built ahead needs it too: `bundleWorkflowCode({…, plugins: [plugin]})`.
 * Throws a UsageError for a codec that cannot be used, duplicate agents, missing providers, prices that are none, a tool that
 * spills without a payload store, tools that need a resource which is missing, tools named like an activity that exists,
 * and versioning that the server lacks (where the worker is run).
 */
export class LonghaulPlugin extends SimplePlugin {
  readonly #runtime: ActivityRuntime;
  readonly #heartbeatMs: number;
  readonly #encrypts: boolean;
  readonly #versioning: Versioning | undefined;
  #connection: SystemInfoAccess | undefined;
  #searchAttributes: Promise<KnownSearchAttributes> | undefined;

  constructor(options: LonghaulPluginOptions) {
    super({ name: 'longhaul', dataConverter: (existing) => withCodec(existing, options.codec) });
    // Options that cannot be used are refused here, not when a worker is made.
    withCodec({}, options.codec);
    this.#encrypts = options.codec?.encryption !== undefined;
    requireStore(options);
    this.#versioning = options.versioning;
    if (options.versioning !== undefined) deploymentOptions(options.versioning, {});
    this.#heartbeatMs = options.heartbeatMs ?? DEFAULT_HEARTBEAT_MS;
    const secrets = new SecretVault(options.secrets);
    const resourcePool = workerResources(options.resources ?? {}, options.agents, secrets);
    this.#runtime = {
      registry: new AgentRegistry(options.agents, options.providers),
      resourcePool,
      resources: resourcePool.shared,
      secrets,
      mcp: workerPool(secrets, (line) => Runtime.instance().logger.warn(line)),
      otherActivities: new Set(),
      payloadStore: options.payloadStore,
      archive: options.archive,
      authorize: hook('authorize', options.authorize),
      notify: hook('notify', options.notify),
      prices: checkedPrices(options.prices ?? {}),
      transcripts: new TranscriptCache(options.transcriptCacheSize ?? DEFAULT_TRANSCRIPT_CACHE_SIZE),
      snapshots: new SnapshotCache(),
      aborts: new AbortRegistry(),
      turns: new ToolTurns(),
      continueAsNew: thresholds(options.continueAsNew),
      upgradeOnContinueAsNew: options.versioning?.behavior === 'UPGRADE_ON_CONTINUE_AS_NEW',
      heartbeatMs: this.#heartbeatMs,
      searchAttributes: () => this.#searchAttributes ?? Promise.resolve({ agentAndStatus: false, waitingFor: false }),
    };
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    if (this.#encrypts) requireEncodedFailures(options.workflowBundle);
    const { registry } = this.#runtime;
    const { names, fallback } = otherActivities(options.activities, registry.hasMcpServers);
    for (const name of names) this.#runtime.otherActivities.add(name);
    const own = createActivities(this.#runtime, fallback);
    const taken = names.filter((name) => Object.hasOwn(own, name));
    if (taken.length > 0)
      throw new UsageError(`the worker has an activity "${taken[0]}" already, and so has Longhaul: rename the tool or the activity`);
    this.#connection = options.connection;
    if (options.connection !== undefined)
      this.#searchAttributes = this.#ensureSearchAttributes(options.connection, options.namespace ?? 'default');
    return {
      ...super.configureWorker(options),
      ...(options.workflowBundle === undefined ? this.#workflows(options) : {}),
      activities: { ...options.activities, ...own },
      sinks: { ...options.sinks, ...this.#sinks() },
      ...(this.#versioning === undefined ? {} : { workerDeploymentOptions: deploymentOptions(this.#versioning, options) }),
      // The SDK would otherwise hold a heartbeat back for up to 0.8 of the heartbeat time-out.
      maxHeartbeatThrottleInterval: options.maxHeartbeatThrottleInterval ?? this.#heartbeatMs,
    };
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    if (this.#versioning !== undefined && this.#connection !== undefined) await requireSupport(this.#connection, this.#versioning);
    const opening = this.openResources();
    // Where nothing is to be opened the worker polls at once: it hears of a shutdown only from then on.
    if (!this.#runtime.resourcePool.isOpen) await opening;
    const { mcp } = this.#runtime;
    mcp.start();
    try {
      await super.runWorker(worker, next);
    } finally {
      await Promise.all([this.closeResources(), mcp.close()]);
    }
  }

  /** How each resource of the worker stands that is a live object. What was not checked for long, or has failed, is seen to first. */
  resourceHealth(): Promise<Record<string, ResourceHealth>> {
    return this.#runtime.resourcePool.health();
  }

  /**
   * Opens the resources before the worker is run, which does it otherwise: `closeResources` is to follow. Rejects with
   * `resource_unavailable` for one that cannot be opened.
   */
  openResources(): Promise<void> {
    return this.#runtime.resourcePool.open();
  }

  /** Closes the resources, unless a worker runs that needs them. Never rejects. */
  closeResources(): Promise<void> {
    return this.#runtime.resourcePool.close();
  }

  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    return {
      ...super.configureReplayWorker(options),
      ...(options.workflowBundle === undefined ? this.#workflows(options) : {}),
      sinks: { ...options.sinks, ...this.#sinks() },
    };
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    const modules = [...(options.workflowInterceptorModules ?? [])];
    return {
      ...super.configureBundler(options),
      workflowsPath: combinedWorkflows(options.workflowsPath),
      workflowInterceptorModules: modules.includes(CANCELLATION_MODULE) ? modules : [...modules, CANCELLATION_MODULE],
      webpackConfigHook: resolveSdk(options.webpackConfigHook),
      ...(this.#encrypts ? { failureConverterPath: FAILURE_CONVERTER_PATH } : {}),
    };
  }

  /** The bundler hook, which also runs for a worker, does the rest: here only a path must be present for it to run at all. */
  #workflows(options: { workflowsPath?: string }): { workflowsPath: string } {
    return { workflowsPath: options.workflowsPath ?? combinedWorkflows(undefined) };
  }

  #sinks(): InjectedSinks<LonghaulSinks> {
    const { aborts } = this.#runtime;
    return {
      longhaul: {
        cancelRequested: {
          fn: ({ namespace, workflowId, runId }) => aborts.abort([namespace, workflowId, runId].join('/')),
          callDuringReplay: false,
        },
        interruptRequested: {
          fn: ({ namespace, workflowId, runId }, key) => aborts.interrupt([namespace, workflowId, runId].join('/'), key),
          callDuringReplay: false,
        },
      },
    };
  }

  async #ensureSearchAttributes(connection: SearchAttributeAccess, namespace: string): Promise<KnownSearchAttributes> {
    return ensureSearchAttributes(connection, namespace, (line) => Runtime.instance().logger.warn(line));
  }
}

/** A hook of the worker. Throws a UsageError for what is no function: decisions would fail, one by one. */
function hook<Hook extends AuthorizeDecision | NotifyWaiting>(name: string, given: Hook | undefined): Hook | undefined {
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
function requireStore({ agents, payloadStore }: LonghaulPluginOptions): void {
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
