import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, InjectedSinks, ReplayWorkerOptions, Worker, WorkerOptions } from '@temporalio/worker';
import { Runtime } from '@temporalio/worker';
import { createRuntime, type RuntimeOptions } from '../activities/create-runtime.ts';
import { createActivities } from '../activities/index.ts';
import type { ResourceHealth } from '../activities/resources/live-resource.ts';
import type { ActivityRuntime, KnownSearchAttributes } from '../activities/runtime.ts';
import { watchStrays } from '../activities/attempts/stray-rejections.ts';
import type { CodecOptions } from '../src/codec/codec-options.ts';
import type { EncryptionCodec } from '../src/codec/encryption-codec.ts';
import { createCodecs, FAILURE_CONVERTER_PATH, markingUnreadable, withCodec } from '../src/codec/with-codec.ts';
import { requireKnown } from '../src/define/options/option-checks.ts';
import { UsageError } from '../src/core/domain/errors/error.ts';
import { requireSdk } from '../src/temporal/require-sdk.ts';
import type { LonghaulSinks } from '../workflows/interceptors/cancel-sink.ts';
import { checkBundle } from './bundle-check.ts';
import { checkParts } from './check-parts.ts';
import { otherActivities } from './other-activities.ts';
import { combinedWorkflows, INTERCEPTOR_MODULES, PAYLOAD_CONVERTER_MODULE, resolveSdk } from './combined-workflows.ts';
import { ensureSearchAttributes, type SearchAttributeAccess } from './search-attributes.ts';
import { deploymentOptions, requireSupport, type SystemInfoAccess, type Versioning } from './versioning.ts';

/** What a worker needs in order to run agents. */
export interface LonghaulPluginOptions extends RuntimeOptions {
  /** Compression and encryption of what is stored; the clients need the same. What is encoded is read in any case. */
  codec?: CodecOptions;
  /** Ties the worker to one build of your code, and says what becomes of runs in flight when there is another. Default: no versions. */
  versioning?: Versioning;
}

/** Those options by their names: one that is added to the type is missed here by the compiler. */
export const PLUGIN_OPTIONS: Record<keyof LonghaulPluginOptions, true> = {
  agents: true,
  providers: true,
  resources: true,
  secrets: true,
  payloadStore: true,
  archive: true,
  archiveTimeout: true,
  authorize: true,
  notify: true,
  notifyEnded: true,
  notifyEndedTimeout: true,
  prices: true,
  continueAsNew: true,
  missingTimeout: true,
  heartbeatEvery: true,
  transcriptCacheSize: true,
  codec: true,
  versioning: true,
};

/**
 * Adds Longhaul to a Worker that a team already has: `Worker.create({…, plugins: [new LonghaulPlugin({agents, providers})]})`.
 * It brings the `agentRun` workflow beside the worker's own, the activities, and the fast way of a cancellation.
 * A bundle built ahead needs it too: `bundleWorkflowCode({…, plugins: [plugin]})`.
 * One plugin is for workers of one namespace. Throws a UsageError for unknown options, a codec that cannot be used, duplicate agents, missing providers, prices that are none, a tool that
 * spills without a payload store, tools that need a resource which is missing, tools named like an activity that exists,
 * versioning that the server lacks (where the worker is run), and packages of Temporal's SDK that do not go together.
 */
export class LonghaulPlugin extends SimplePlugin {
  readonly #runtime: ActivityRuntime;
  readonly #encrypts: boolean;
  readonly #encryption: EncryptionCodec;
  readonly #versioning: Versioning | undefined;
  /** What its workers serve: what is known of a namespace holds for no other. */
  #namespace: string | undefined;
  #connection: SystemInfoAccess | undefined;
  #searchAttributes: Promise<KnownSearchAttributes> | undefined;

  constructor(options: LonghaulPluginOptions) {
    requireSdk();
    // Options that cannot be used are refused here, not when a worker is made.
    requireKnown('the plugin', options, Object.keys(PLUGIN_OPTIONS));
    checkParts('the plugin', options);
    const codecs = createCodecs(options.codec);
    super({ name: 'longhaul', dataConverter: (existing) => withCodec(existing, options.codec, codecs) });
    [, this.#encryption] = codecs;
    this.#encrypts = options.codec?.encryption !== undefined;
    this.#versioning = options.versioning;
    if (options.versioning !== undefined) deploymentOptions(options.versioning, {});
    this.#runtime = createRuntime(options, {
      log: (line) => Runtime.instance().logger.warn(line),
      upgradeOnContinueAsNew: options.versioning?.behavior === 'UPGRADE_ON_CONTINUE_AS_NEW',
      searchAttributes: () => this.#searchAttributes ?? Promise.resolve({ agentAndStatus: false, waitingFor: false }),
    });
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    checkBundle(options.workflowBundle, { encrypts: this.#encrypts });
    this.#requireOneNamespace(options.namespace ?? 'default');
    const { registry } = this.#runtime;
    const { names, fallback } = otherActivities(options.activities, registry.hasMcpServers);
    for (const name of names) this.#runtime.otherActivities.add(name);
    if (options.identity !== undefined) this.#runtime.identity = options.identity;
    const own = createActivities(this.#runtime, fallback);
    const taken = names.filter((name) => Object.hasOwn(own, name));
    if (taken.length > 0)
      throw new UsageError(`the worker has an activity "${taken[0]}" already, and so has Longhaul: rename the tool or the activity`);
    this.#connection = options.connection;
    if (options.connection !== undefined)
      this.#searchAttributes = this.#ensureSearchAttributes(options.connection, options.namespace ?? 'default');
    const configured = super.configureWorker(options);
    return {
      ...configured,
      dataConverter: markingUnreadable(configured.dataConverter),
      ...(options.workflowBundle === undefined ? this.#workflows(options) : {}),
      activities: { ...options.activities, ...own },
      sinks: { ...options.sinks, ...this.#sinks() },
      ...(this.#versioning === undefined ? {} : { workerDeploymentOptions: deploymentOptions(this.#versioning, options) }),
      // The SDK would otherwise hold a heartbeat back for up to 0.8 of the heartbeat time-out.
      maxHeartbeatThrottleInterval: options.maxHeartbeatThrottleInterval ?? this.#runtime.heartbeatMs,
    };
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    if (this.#versioning !== undefined && this.#connection !== undefined) await requireSupport(this.#connection, this.#versioning);
    if (this.#encrypts) await this.requireEncryptionKey();
    const opening = this.openResources();
    // Where nothing is to be opened the worker polls at once: it hears of a shutdown only from then on.
    if (!this.#runtime.resourcePool.isOpen) await opening;
    const { mcp } = this.#runtime;
    mcp.start();
    const unwatch = watchStrays();
    try {
      await super.runWorker(worker, next);
    } finally {
      unwatch();
      await Promise.all([this.closeResources(), mcp.close()]);
    }
  }

  /** How each resource of the worker stands that is a live object. What was not checked for long, or has failed, is seen to first. */
  resourceHealth(): Promise<Record<string, ResourceHealth>> {
    return this.#runtime.resourcePool.health();
  }

  /**
   * Asks for the key to encrypt with before the worker is run, which does it otherwise: a worker that could not encrypt
   * what it reports would end in the middle of a run. Rejects with `encryption_key_missing` where the key cannot be had.
   */
  requireEncryptionKey(): Promise<void> {
    return this.#encryption.requireActiveKey();
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
    const configured = super.configureReplayWorker(options);
    return {
      ...configured,
      dataConverter: markingUnreadable(configured.dataConverter),
      ...(options.workflowBundle === undefined ? this.#workflows(options) : {}),
      sinks: { ...options.sinks, ...this.#sinks() },
    };
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    const modules = options.workflowInterceptorModules ?? [];
    return {
      ...super.configureBundler(options),
      workflowsPath: combinedWorkflows(options.workflowsPath),
      workflowInterceptorModules: [...new Set([...modules, ...INTERCEPTOR_MODULES])],
      webpackConfigHook: resolveSdk(options.webpackConfigHook),
      payloadConverterPath: options.payloadConverterPath ?? PAYLOAD_CONVERTER_MODULE,
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

  #requireOneNamespace(namespace: string): void {
    this.#namespace ??= namespace;
    if (this.#namespace === namespace) return;
    throw new UsageError(
      `this LonghaulPlugin serves the namespace "${this.#namespace}" already, and a worker of "${namespace}" was given it too: make one plugin for each namespace`,
    );
  }

  async #ensureSearchAttributes(connection: SearchAttributeAccess, namespace: string): Promise<KnownSearchAttributes> {
    return ensureSearchAttributes(connection, namespace, (line) => Runtime.instance().logger.warn(line));
  }
}
