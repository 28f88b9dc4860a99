import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, InjectedSinks, ReplayWorkerOptions, Worker, WorkerOptions } from '@temporalio/worker';
import { Runtime } from '@temporalio/worker';
import { checkExecutors, needExecutorChecks } from '../activities/executors/check-executors.ts';
import { createRuntime, type RuntimeOptions } from '../activities/create-runtime.ts';
import { createActivities } from '../activities/index.ts';
import { guardedStores } from '../activities/resources/guarded-stores.ts';
import type { ResourceHealth } from '../activities/resources/live-resource.ts';
import { keyOfRun } from '../activities/run-queries/access.ts';
import type { ActivityRuntime, KnownSearchAttributes } from '../activities/runtime.ts';
import { watchUnhandledRejections } from '../activities/attempts/unhandled-rejections.ts';
import type { CodecOptions } from '../src/codec/codec-options.ts';
import type { EncryptionCodec } from '../src/codec/encryption-codec.ts';
import { createCodecs, FAILURE_CONVERTER_PATH, markingUnreadable, withCodec } from '../src/codec/with-codec.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import type { ResourcesOfAgents, ResourcesOption } from '../src/define/options/needed-resources.ts';
import { requireKnown } from '../src/define/options/option-checks.ts';
import { UsageError } from '../src/core/domain/errors/error.ts';
import { requireSdk } from '../src/temporal/require-sdk.ts';
import type { LonghaulSinks } from '../workflows/interceptors/worker-sinks.ts';
import { checkBundle } from './check-bundle.ts';
import { checkWorkerParts } from './check-worker-parts.ts';
import { otherActivities } from './other-activities.ts';
import { combinedWorkflows, INTERCEPTOR_MODULES, PAYLOAD_CONVERTER_MODULE, resolveSdk } from './combined-workflows.ts';
import { ensureSearchAttributes, type SearchAttributeAccess } from './search-attributes.ts';
import { deploymentOptions, requireSupport, type SystemInfoAccess, type Versioning } from './versioning.ts';

/** Options of the plugin: everything that a worker needs to run agents. */
export interface LonghaulPluginOptions extends RuntimeOptions {
  /** Compression and encryption of stored payloads; clients need the same options. Encoded payloads can always be read. */
  codec?: CodecOptions;
  /**
   * Ties the worker to one build of your code, and decides what happens to runs in flight when there is another.
   * Default: no versioning.
   */
  versioning?: Versioning;
}

/** The options by name. The compiler reports one that is missing here. */
export const PLUGIN_OPTIONS: Record<keyof LonghaulPluginOptions, true> = {
  agents: true,
  programs: true,
  tools: true,
  anchors: true,
  memory: true,
  embed: true,
  providers: true,
  resources: true,
  secrets: true,
  payloadStore: true,
  streams: true,
  archive: true,
  archiveTimeout: true,
  hooks: true,
  authorize: true,
  notify: true,
  notifyEnded: true,
  notifyEndedTimeout: true,
  prices: true,
  continueAsNew: true,
  childCheckEvery: true,
  missingTimeout: true,
  heartbeatEvery: true,
  transcriptCacheSize: true,
  codeCache: true,
  codec: true,
  versioning: true,
};

/**
 * Adds Longhaul to an existing Worker: `Worker.create({…, plugins: [new LonghaulPlugin({agents, providers})]})`. It
 * adds the `agentRun` workflow to the worker's own, the activities, and immediate cancellation inside one process. A
 * prebuilt bundle needs it too: `bundleWorkflowCode({…, plugins: [plugin]})`. One plugin serves workers of one
 * namespace. Throws a UsageError for unknown options, a codec that cannot be used, duplicate agents, missing providers,
 * invalid prices, a tool that spills without a payload store, tools that need a resource which is missing, tools named
 * like an existing activity, versioning that the server does not support (when the worker is run), and packages of
 * Temporal's SDK whose versions do not match.
 */
export class LonghaulPlugin<const Agents extends readonly AnyAgent[] = readonly AnyAgent[]> extends SimplePlugin {
  readonly #runtime: ActivityRuntime;
  readonly #encrypts: boolean;
  readonly #encryption: EncryptionCodec;
  readonly #versioning: Versioning | undefined;
  /** The namespace of its workers: facts about one namespace do not hold for another. */
  #namespace: string | undefined;
  #connection: SystemInfoAccess | undefined;
  #searchAttributes: Promise<KnownSearchAttributes> | undefined;
  #checkedExecutors: Promise<void> | undefined;

  constructor(options: LonghaulPluginOptions & { agents: Agents } & ResourcesOption<ResourcesOfAgents<Agents>>) {
    requireSdk();
    // Invalid options are refused here, not when a worker is created.
    requireKnown('the plugin', options, Object.keys(PLUGIN_OPTIONS));
    checkWorkerParts('the plugin', options);
    const codecs = createCodecs(options.codec);
    super({ name: 'longhaul', dataConverter: (existing) => withCodec(existing, options.codec, codecs) });
    [, this.#encryption] = codecs;
    this.#encrypts = options.codec?.encryption !== undefined;
    this.#versioning = options.versioning;
    if (options.versioning !== undefined) deploymentOptions(options.versioning, {});
    const log = (line: string): void => Runtime.instance().logger.warn(line);
    this.#runtime = createRuntime(
      { ...options, ...guardedStores(options, log) },
      {
        log,
        upgradeOnContinueAsNew: options.versioning?.behavior === 'UPGRADE_ON_CONTINUE_AS_NEW',
        searchAttributes: () => this.#searchAttributes ?? Promise.resolve({ agentAndStatus: false, waitingFor: false }),
      },
    );
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    checkBundle(options.workflowBundle, { encrypts: this.#encrypts });
    this.#requireOneNamespace(options.namespace ?? 'default');
    const { registry } = this.#runtime;
    const { names, fallback } = otherActivities(options.activities, registry.hasMcpServers);
    for (const name of names) this.#runtime.otherActivities.add(name);
    if (options.identity !== undefined) this.#runtime.identity = options.identity;
    const longhaulActivities = createActivities(this.#runtime, fallback);
    const taken = names.filter((name) => Object.hasOwn(longhaulActivities, name));
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
      activities: { ...options.activities, ...longhaulActivities },
      sinks: { ...options.sinks, ...this.#sinks() },
      ...(this.#versioning === undefined ? {} : { workerDeploymentOptions: deploymentOptions(this.#versioning, options) }),
      maxHeartbeatThrottleInterval: options.maxHeartbeatThrottleInterval ?? this.#heartbeatThrottle(),
    };
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    if (this.#versioning !== undefined && this.#connection !== undefined) await requireSupport(this.#connection, this.#versioning);
    if (this.#encrypts) await this.requireEncryptionKey();
    if (needExecutorChecks(this.#runtime.registry.agents)) await this.checkExecutors();
    const opening = this.openResources();
    // If nothing has to be opened, the worker polls at once: only a polling worker reacts to a shutdown.
    if (!this.#runtime.resourcePool.isOpen) await opening;
    const { mcp, namespaces, streams } = this.#runtime;
    mcp.start();
    const unwatch = watchUnhandledRejections();
    try {
      streams?.open(worker.options.namespace, worker.options.loadedDataConverter);
      await super.runWorker(worker, next);
    } finally {
      unwatch();
      await Promise.all([this.closeResources(), mcp.close(), namespaces.close(), streams?.close()]);
    }
  }

  /**
   * Returns the health of each live resource of the worker. Checks first those whose last check is too old, and retries
   * those that have failed.
   */
  resourceHealth(): Promise<Record<string, ResourceHealth>> {
    return this.#runtime.resourcePool.health();
  }

  /**
   * Loads the active encryption key before the worker runs, which would do it otherwise: a worker that cannot encrypt
   * its reports would fail in the middle of a run. Rejects with `encryption_key_missing` if the key is not available.
   */
  requireEncryptionKey(): Promise<void> {
    return this.#encryption.requireActiveKey();
  }

  /**
   * Checks the executors of code before the worker runs, which would do it otherwise. Rejects with a UsageError for one that does
   * not isolate code on this machine.
   */
  checkExecutors(): Promise<void> {
    this.#checkedExecutors ??= checkExecutors(this.#runtime.registry.agents);
    return this.#checkedExecutors;
  }

  /**
   * Opens the resources before the worker runs, which would do it otherwise; call `closeResources` afterwards. Rejects
   * with `resource_unavailable` for one that cannot be opened.
   */
  openResources(): Promise<void> {
    return this.#runtime.resourcePool.open();
  }

  /** Closes the resources, unless a running worker needs them. Never rejects. */
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
      ...(this.#encrypts && FAILURE_CONVERTER_PATH !== '' ? { failureConverterPath: FAILURE_CONVERTER_PATH } : {}),
    };
  }

  /** Returns a path so that the bundler hook runs at all; the hook, which also runs for a worker, does the rest. */
  #workflows(options: { workflowsPath?: string }): { workflowsPath: string } {
    return { workflowsPath: options.workflowsPath ?? combinedWorkflows(undefined) };
  }

  /** Without it, the SDK would delay a heartbeat for up to 0.8 of the heartbeat timeout. */
  #heartbeatThrottle(): number {
    const { heartbeatMs, streams } = this.#runtime;
    return Math.min(heartbeatMs, streams?.heartbeatMs ?? Infinity);
  }

  #sinks(): InjectedSinks<LonghaulSinks> {
    const { aborts, streams, transcripts } = this.#runtime;
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
        conversationGrew: {
          fn: ({ namespace, workflowId, runId }, key, news) => transcripts.addNews(keyOfRun({ namespace, workflowId, runId, key }), news),
          callDuringReplay: false,
        },
        recorded: {
          fn: ({ workflowId, runId }, totals) => streams?.publish(workflowId, { type: 'recorded', executionId: runId, ...totals }),
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
