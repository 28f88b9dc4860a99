import { readFileSync } from 'node:fs';
import { Client, type OperatorService, type WorkflowService } from '@temporalio/client';
import { SimplePlugin } from '@temporalio/plugin';
import {
  type BundleOptions,
  type InjectedSinks,
  type ReplayWorkerOptions,
  Runtime,
  type Worker,
  type WorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { watchUnhandledRejections } from '../activities/attempts/checked-activity.ts';
import { createActivities, type DefaultActivity } from '../activities/create-activities.ts';
import { createRuntime, type RuntimeContext, type RuntimeOptions } from '../activities/create-runtime.ts';
import { checkExecutors, needExecutorChecks } from '../activities/executors/create-executor.ts';
import { guardedStores } from '../activities/resources/guarded-stores.ts';
import type { ResourceHealth } from '../activities/resources/resource-pool.ts';
import { StoreWatch, type WorkerStoresHealth } from '../activities/resources/store-watch.ts';
import { keyOfRun } from '../activities/run-queries/query-run.ts';
import type { ActivityRuntime, KnownSearchAttributes } from '../activities/runtime.ts';
import { repairTraces } from '../activities/telemetry/repair-traces.ts';
import { RunReports } from '../activities/telemetry/run-reports.ts';
import type { CodecOptions, EncryptionCodec } from '../src/codec/encryption.ts';
import { BUNDLE_MARK as FAILURE_CONVERTER_MARK } from '../src/codec/failure-converter.ts';
import { createCodecs, FAILURE_CONVERTER_PATH, markingUnreadable, withCodec } from '../src/codec/with-codec.ts';
import { errorMessage, UsageError } from '../src/core/domain/errors.ts';
import { WAITS_STREAM } from '../src/core/domain/stream.ts';
import { defined } from '../src/core/domain/json.ts';
import { SEARCH_ATTRIBUTE_TYPES, SEARCH_ATTRIBUTES } from '../src/core/protocol.ts';
import { BUNDLE_MARK as QUERY_GUARD_MARK } from '../src/core/queries/task-doubt.ts';
import type { AnyAgent, ResourcesOfAgents, ResourcesOption } from '../src/define/agent-definition.ts';
import { SHARED_OPTIONS } from '../src/define/all-parts.ts';
import { type OptionTable, requireKnown, requireList } from '../src/define/option-checks.ts';
import { GRPC, grpcCode } from '../src/temporal/server-calls.ts';
import { requireSdk } from '../src/temporal/server-connection.ts';
import type { LonghaulSinks, UnknownOutcome } from '../workflows/run/live-run.ts';
import {
  combinedWorkflows,
  INTERCEPTOR_MODULES,
  PAYLOAD_CONVERTER_MODULE,
  inOneScope,
  resolveSdk,
  RUNS_MODULE,
  withLoopDigest,
  WITHOUT_STACK_TRACES_MODULE,
} from './bundle-workflows.ts';
import { packagedBundle } from './packaged-bundle.ts';
import { runUnlessShutDown } from './requested-shutdown.ts';
import { deploymentOptions, requireSupport, type SystemInfoAccess, type Versioning } from './versioning.ts';

/** Options of the plugin: everything that a worker needs to run agents. */
export interface LonghaulPluginOptions extends RuntimeOptions {
  /** Compression and encryption of stored payloads; clients need the same options. Encoded payloads can always be read. */
  codec?: CodecOptions;
  /**
   * Ties the worker to one build of your code, and decides what happens to runs in flight when another build appears.
   * Default: no versioning.
   */
  versioning?: Versioning;
  /**
   * Whether workflow errors, and the call stack of a run in the Temporal UI, have stack frames, which take a tenth of a worker's CPU.
   * Default: only if the worker runs your own workflows.
   */
  workflowStackTraces?: boolean;
}

export const PLUGIN_OPTIONS: OptionTable<LonghaulPluginOptions> = {
  agents: true,
  programs: true,
  tools: true,
  anchors: true,
  memory: true,
  embed: true,
  providers: true,
  batch: true,
  resources: true,
  secrets: true,
  payloadStore: true,
  streams: true,
  telemetry: true,
  captureContent: true,
  limits: true,
  governor: true,
  archive: true,
  archiveTimeout: true,
  ...SHARED_OPTIONS,
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
  workflowStackTraces: true,
};

/** The part of a worker's runtime that the kit for tests sets. */
export type PluginContext = Pick<RuntimeContext, 'batches'>;

/** The contexts of plugins, by their options: the constructor is public. */
const contexts = new WeakMap<LonghaulPluginOptions, PluginContext>();

/** Makes a plugin with a context. */
export function pluginIn(context: PluginContext, options: LonghaulPluginOptions): LonghaulPlugin {
  contexts.set(options, context);
  return new LonghaulPlugin(options);
}

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
  readonly #encryption: EncryptionCodec;
  readonly #versioning: Versioning | undefined;
  readonly #stackTraces: boolean | undefined;
  readonly #codec: CodecOptions | undefined;
  /** The namespace of its workers: cached facts apply only to one namespace. */
  #namespace: string | undefined;
  #connection: SystemInfoAccess | undefined;
  /** Reads the beginnings of runs for their traces. */
  #client: Client | undefined;
  readonly #reports: RunReports | undefined;
  readonly #stores: StoreWatch;
  #searchAttributes: Promise<KnownSearchAttributes> | undefined;
  #checkedExecutors: Promise<void> | undefined;
  readonly #workers = new Set<Worker>();

  /** Makes the plugin for a Worker, a Client or a bundle of Temporal's own SDK. */
  constructor(options: LonghaulPluginOptions & { agents: Agents } & ResourcesOption<ResourcesOfAgents<Agents>>) {
    requireSdk();
    // Invalid options are refused here, not when a worker is created.
    requireKnown<LonghaulPluginOptions>('the plugin', options, PLUGIN_OPTIONS);
    checkWorkerParts('the plugin', options);
    const codecs = createCodecs(options.codec);
    super({ name: 'longhaul', dataConverter: (existing) => withCodec(existing, options.codec, codecs) });
    [, this.#encryption] = codecs;
    this.#versioning = options.versioning;
    this.#stackTraces = options.workflowStackTraces;
    this.#codec = options.codec;
    if (options.versioning !== undefined) deploymentOptions(options.versioning, {});
    const log = (line: string): void => Runtime.instance().logger.warn(line);
    this.#stores = new StoreWatch({
      log,
      failed: (store) => this.#runtime.telemetry?.telemetry.measure((metrics) => metrics.storeFailed(store)),
    });
    this.#runtime = createRuntime(
      { ...options, ...guardedStores(this.#stores.watched(options), log) },
      {
        log,
        isStopping: () => this.#workers.size > 0 && [...this.#workers].every((worker) => worker.getState() !== 'RUNNING'),
        ...contexts.get(options),
        upgradeOnContinueAsNew: options.versioning?.behavior === 'UPGRADE_ON_CONTINUE_AS_NEW',
        searchAttributes: () => this.#searchAttributes ?? Promise.resolve({ agentAndStatus: false, waitingFor: false }),
      },
    );
    const { telemetry } = this.#runtime;
    this.#reports = telemetry && new RunReports(telemetry);
  }

  /**
   * Adds Longhaul's workflows, activities and interceptors to the options of a Worker. A worker that is run without the plugin's
   * `runWorker` does not notify bursts of its shutdown: they begin further calls after SIGTERM,
   * until the SDK cancels them after `shutdownGraceTime`.
   */
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
    const { connection, namespace = 'default' } = options;
    this.#connection = connection;
    if (options.connection !== undefined)
      this.#searchAttributes = this.#ensureSearchAttributes(options.connection, options.namespace ?? 'default');
    const configured = super.configureWorker(options);
    const dataConverter = markingUnreadable(configured.dataConverter);
    if (connection !== undefined) this.#serveTelemetry(new Client({ connection, namespace, dataConverter }));
    return {
      ...configured,
      dataConverter,
      ...(options.workflowBundle === undefined ? this.#bundleOrWorkflows(options, configured) : {}),
      activities: { ...options.activities, ...longhaulActivities },
      sinks: { ...options.sinks, ...this.#sinks() },
      ...(this.#versioning === undefined ? {} : { workerDeploymentOptions: deploymentOptions(this.#versioning, options) }),
      maxHeartbeatThrottleInterval: options.maxHeartbeatThrottleInterval ?? this.#heartbeatThrottle(),
    };
  }

  /**
   * Opens resources before the Worker polls, and closes them after it has ended. A shutdown that is requested meanwhile ends it before
   * it makes a call.
   */
  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    let holdsResources = false;
    const prepare = async (signal: AbortSignal): Promise<void> => {
      if (this.#versioning !== undefined && this.#connection !== undefined) await requireSupport(this.#connection, this.#versioning);
      if (this.#encrypts) await this.requireEncryptionKey();
      if (needExecutorChecks(this.#runtime.registry.agents)) await this.checkExecutors();
      // Nobody would close what is opened after the end.
      if (signal.aborted) return;
      holdsResources = true;
      await this.openResources();
    };
    const run = async (): Promise<void> => {
      try {
        await this.#runPrepared(worker, next);
      } finally {
        if (holdsResources) await this.closeResources();
      }
    };
    await runUnlessShutDown(worker, { prepare, run });
  }

  async #runPrepared(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    const { governor, mcp, namespaces, streams } = this.#runtime;
    mcp.start();
    governor?.open();
    const unwatch = watchUnhandledRejections();
    const uncount = this.#countApprovals();
    this.#workers.add(worker);
    this.#reports?.open();
    this.#client ??= worker.client;
    try {
      streams?.open(worker.options.namespace, worker.options.loadedDataConverter);
      await super.runWorker(worker, next);
    } finally {
      unwatch();
      this.#workers.delete(worker);
      uncount();
      await Promise.all([mcp.close(), namespaces.close(), streams?.close(), governor?.close(), this.#reports?.close()]);
    }
  }

  /**
   * Returns the health of each live resource of the worker. Checks first those whose last check is too old, and retries
   * those that have failed.
   */
  resourceHealth(): Promise<Record<string, ResourceHealth>> {
    return this.#runtime.resourcePool.health();
  }

  /** Returns the health of each store of the worker, as its last accesses have shown it. */
  storeHealth(): WorkerStoresHealth {
    return this.#stores.health();
  }

  /**
   * Loads the active encryption key ahead of the worker's start: a worker that cannot encrypt
   * its reports would fail in the middle of a run. Rejects with `encryption_key_missing` if the key is not available.
   */
  requireEncryptionKey(): Promise<void> {
    return this.#encryption.requireActiveKey();
  }

  /**
   * Checks the code executors ahead of the worker's start. Rejects with a UsageError for one that does
   * not isolate code on this machine.
   */
  checkExecutors(): Promise<void> {
    this.#checkedExecutors ??= checkExecutors(this.#runtime.registry.agents);
    return this.#checkedExecutors;
  }

  /**
   * Opens the resources ahead of the worker's start; call `closeResources` afterwards. Rejects
   * with `resource_unavailable` for one that cannot be opened.
   */
  openResources(): Promise<void> {
    return this.#runtime.resourcePool.open();
  }

  /** Closes the resources, unless a running worker needs them. Never rejects. */
  closeResources(): Promise<void> {
    return this.#runtime.resourcePool.close();
  }

  /** Adds Longhaul's workflows to a Worker that replays histories. */
  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    const configured = super.configureReplayWorker(options);
    return {
      ...configured,
      dataConverter: markingUnreadable(configured.dataConverter),
      ...(options.workflowBundle === undefined ? this.#workflows(options) : {}),
      sinks: { ...options.sinks, ...this.#sinks() },
    };
  }

  /** Adds Longhaul's workflows to a bundle. */
  override configureBundler(options: BundleOptions): BundleOptions {
    const modules = options.workflowInterceptorModules ?? [];
    const workflowsPath = combinedWorkflows(options.workflowsPath);
    const tracesStacks = this.#stackTraces ?? workflowsPath !== RUNS_MODULE;
    return {
      ...super.configureBundler(options),
      workflowsPath,
      ...(tracesStacks ? {} : { preloadModules: [...(options.preloadModules ?? []), WITHOUT_STACK_TRACES_MODULE] }),
      workflowInterceptorModules: [...new Set([...modules, ...INTERCEPTOR_MODULES])],
      webpackConfigHook: withLoopDigest(inOneScope(resolveSdk(options.webpackConfigHook))),
      payloadConverterPath: options.payloadConverterPath ?? PAYLOAD_CONVERTER_MODULE,
      ...(this.#encrypts && FAILURE_CONVERTER_PATH !== '' ? { failureConverterPath: FAILURE_CONVERTER_PATH } : {}),
    };
  }

  get #encrypts(): boolean {
    return this.#codec?.encryption !== undefined;
  }

  /** Returns the packaged bundle if the worker would make the same one, otherwise the workflows to bundle. */
  #bundleOrWorkflows(
    options: WorkerOptions,
    { dataConverter }: WorkerOptions,
  ): { workflowsPath: string } | { workflowBundle: WorkflowBundleOption } {
    const plugins = options.plugins?.filter((plugin) => plugin !== this);
    const parts = { ...options, ...defined({ dataConverter, plugins }), codec: this.#codec, workflowStackTraces: this.#stackTraces };
    const workflowBundle = packagedBundle(parts);
    return workflowBundle === undefined ? this.#workflows(options) : { workflowBundle };
  }

  /** Returns a path, without which `configureBundler` would not run. */
  #workflows(options: { workflowsPath?: string }): { workflowsPath: string } {
    return { workflowsPath: options.workflowsPath ?? combinedWorkflows(undefined) };
  }

  /** Periodically counts the runs that wait for a decision. Returns the function that stops it. */
  #countApprovals(): () => void {
    const { telemetry } = this.#runtime.telemetry ?? {};
    const client = this.#client;
    if (telemetry === undefined || client === undefined) return () => undefined;
    const query = `ExecutionStatus = 'Running' AND ${SEARCH_ATTRIBUTES.status} = 'pending_confirmation'`;
    const count = async (): Promise<void> => {
      const runs = await client.workflow.count(query).catch(() => undefined);
      if (runs !== undefined) telemetry.measure((metrics) => metrics.approvalsWaiting(runs.count));
    };
    void count();
    const timer = setInterval(() => void count(), COUNT_EVERY_MS).unref();
    return () => clearInterval(timer);
  }

  /** Lets the telemetry, if any, read runs. */
  #serveTelemetry(client: Client): void {
    const { telemetry } = this.#runtime.telemetry ?? {};
    if (telemetry === undefined) return;
    this.#client = client;
    telemetry.repairBy((since, calls) => repairTraces(telemetry, client, { since, calls }));
  }

  /** Without it, the SDK would delay a heartbeat for up to 0.8 of the heartbeat timeout. */
  #heartbeatThrottle(): number {
    const { heartbeatMs, streams } = this.#runtime;
    return Math.min(heartbeatMs, streams?.heartbeatMs ?? Infinity);
  }

  #sinks(): InjectedSinks<LonghaulSinks> {
    const { aborts, streams, telemetry, transcripts } = this.#runtime;
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
          fn: ({ workflowId, runId }, totals, waitsAnew) => {
            streams?.publish(workflowId, { type: 'recorded', executionId: runId, ...totals });
            if (waitsAnew) streams?.publish(WAITS_STREAM, { type: 'recorded', executionId: runId, ...totals });
          },
          callDuringReplay: false,
        },
        runStarted: {
          fn: ({ namespace, workflowId, runId: executionId, firstExecutionRunId: firstExecutionId }, agentName, beginning) => {
            telemetry?.telemetry.measure((metrics) => metrics.runStarted(agentName));
            if (beginning !== undefined) telemetry?.traces.began({ namespace, workflowId, executionId, firstExecutionId }, beginning);
          },
          callDuringReplay: false,
        },
        outcomeUnknown: {
          fn: ({ workflowId }, call) => this.#tellUnknown(workflowId, call),
          callDuringReplay: false,
        },
        turnReached: {
          fn: ({ runId }, turn, through) => telemetry?.traces.turns.reached(runId, turn, through),
          callDuringReplay: false,
        },
        traced: {
          fn: ({ namespace, workflowId, runId: executionId, historyLength }, key, part, at) => {
            if (part.end !== undefined) transcripts.forget(keyOfRun({ namespace, workflowId, runId: executionId, key }));
            this.#reports?.report(this.#client, { workflowId, executionId, historyLength, at, key, part });
          },
          callDuringReplay: false,
        },
      },
    };
  }

  /** Tells operators of a call that may have taken effect: only a person can find out, and nothing else would tell them. */
  #tellUnknown(runId: string, { tool, agent, step, callId, reason }: UnknownOutcome): void {
    this.#runtime.telemetry?.telemetry.measure((metrics) => metrics.outcomeUnknown({ tool, agent }));
    Runtime.instance().logger.warn(
      `The outcome of a call of tool "${tool}" in run "${runId}" is unknown: it was started, and its answer was lost (${reason}). It may have taken effect, and is not tried again. Find out what it has done`,
      { runId, agent, step, callId },
    );
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

/**
 * Throws a UsageError for a prebuilt workflow bundle that lacks a part that only the bundler can add: the query guard,
 * without which a query can block a run forever, and for a worker that encrypts the failure converter, without which
 * failure messages stay in clear text. Both defects would go unnoticed.
 */
function checkBundle(bundle: WorkflowBundleOption | undefined, { encrypts }: { encrypts: boolean }): void {
  if (bundle === undefined) return;
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  if (!code.includes(QUERY_GUARD_MARK)) {
    throw new UsageError(`The workflow bundle was made without Longhaul's plugin: a query could block a run forever. ${BUNDLE_ADVICE}`);
  }
  if (encrypts && !code.includes(FAILURE_CONVERTER_MARK)) {
    throw new UsageError(
      `The worker encrypts, and its workflow bundle was made without encryption: failure messages would stay in clear text. ${BUNDLE_ADVICE}`,
    );
  }
}

/** Milliseconds between two counts of waiting runs, each of which is a search on the server. */
const COUNT_EVERY_MS = 30_000;

const BUNDLE_ADVICE = 'Make the bundle with the same plugin: bundleWorkflowCode({…, plugins: [plugin]})';

/** The worker's own activities, next to Longhaul's. */
interface OtherActivities {
  /** Their names, without `default`. */
  names: string[];
  /** The worker's own default activity, if it has one; `kept` if it must be registered unchanged. */
  fallback: DefaultActivity | 'kept' | undefined;
}

/**
 * Separates the worker's own activities from its default activity. Throws a UsageError for a `default` activity with
 * definition options (converters of its input) if Longhaul has to share it, because other calls would then pass through
 * those options. If it need not be shared, it is kept, and receives calls of tools that the worker lacks.
 */
function otherActivities(activities: object = {}, isShared: boolean): OtherActivities {
  const names = Object.keys(activities).filter((name) => name !== 'default');
  const fallback: unknown = 'default' in activities ? activities.default : undefined;
  if (typeof fallback !== 'function') return { names, fallback: undefined };
  if ('activityDefinitionOptions' in fallback) {
    if (!isShared) return { names, fallback: 'kept' };
    throw new UsageError(
      'the worker has a "default" activity with definition options, and agents with MCP servers, whose calls come to the default activity too: take the options out, or run these agents in a separate worker',
    );
  }
  return { names, fallback: (...args: unknown[]): unknown => Reflect.apply(fallback, activities, args) };
}

type AttributeName = keyof typeof SEARCH_ATTRIBUTE_TYPES;
type AttributeType = (typeof SEARCH_ATTRIBUTE_TYPES)[AttributeName];

/** The server's enum values of the types. */
const TYPE_NUMBERS = { Keyword: 2, Datetime: 6, KeywordList: 7 } as const satisfies Record<AttributeType, number>;

const ATTRIBUTE_NAMES = Object.keys(SEARCH_ATTRIBUTE_TYPES) as AttributeName[];

/** The part of a connection for looking up and adding attributes. */
export interface SearchAttributeAccess {
  operatorService: Pick<OperatorService, 'listSearchAttributes' | 'addSearchAttributes'>;
  workflowService: Pick<WorkflowService, 'countWorkflowExecutions'>;
}

/**
 * Registers Longhaul's search attributes if they are missing, and returns those that the namespace has. Runs work
 * without missing ones; `warn` then receives one line with the command for an administrator.
 */
export async function ensureSearchAttributes(
  connection: SearchAttributeAccess,
  namespace: string,
  warn: (line: string) => void,
): Promise<KnownSearchAttributes> {
  const { missing, why } = await registerAttributes(connection, namespace);
  if (missing.length > 0) warn(missingAttributesAdvice(namespace, missing, why));
  const has = (name: AttributeName): boolean => !missing.includes(name);
  return {
    agentAndStatus: has(SEARCH_ATTRIBUTES.agent) && has(SEARCH_ATTRIBUTES.status),
    waitingFor: has(SEARCH_ATTRIBUTES.waitingFor),
    tag: has(SEARCH_ATTRIBUTES.tag),
    started: has(SEARCH_ATTRIBUTES.started),
  };
}

/** Adds missing attributes. Returns those that are still missing, and why. */
async function registerAttributes(
  connection: SearchAttributeAccess,
  namespace: string,
): Promise<{ missing: AttributeName[]; why: string }> {
  try {
    const missing = await missingIn(connection, namespace);
    if (missing.length === 0) return { missing, why: '' };
    const refused = await addAttributes(connection, namespace, missing);
    // Adding an attribute that exists with another type succeeds without changing anything.
    return { missing: await missingIn(connection, namespace), why: refused ?? 'the server did not add them with these types' };
  } catch (error) {
    const missing: AttributeName[] = [];
    for (const name of ATTRIBUTE_NAMES) if (!(await canBeSearched(connection, namespace, name))) missing.push(name);
    return { missing, why: errorMessage(error) };
  }
}

async function missingIn({ operatorService }: SearchAttributeAccess, namespace: string): Promise<AttributeName[]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  return ATTRIBUTE_NAMES.filter((name) => customAttributes?.[name] !== TYPE_NUMBERS[SEARCH_ATTRIBUTE_TYPES[name]]);
}

/**
 * Adds attributes, one type at a time: a namespace may have room for one type and not for another. Returns why some
 * were not added.
 */
async function addAttributes(
  { operatorService }: SearchAttributeAccess,
  namespace: string,
  names: AttributeName[],
): Promise<string | undefined> {
  let refused: string | undefined;
  for (const [type, number] of Object.entries(TYPE_NUMBERS)) {
    const ofType = names.filter((name) => SEARCH_ATTRIBUTE_TYPES[name] === type);
    if (ofType.length === 0) continue;
    try {
      await operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(ofType.map((name) => [name, number])) });
    } catch (error) {
      refused ??= errorMessage(error);
    }
  }
  return refused;
}

/**
 * Returns true if an attribute can be queried as its type allows: the only test if workers may not use the operator
 * service (Temporal Cloud). Keyword supports STARTS_WITH; KeywordList supports IN, and refuses STARTS_WITH; Datetime supports times.
 */
async function canBeSearched({ workflowService }: SearchAttributeAccess, namespace: string, name: AttributeName): Promise<boolean> {
  const isTaken = async (condition: string): Promise<boolean | undefined> => {
    try {
      await workflowService.countWorkflowExecutions({ namespace, query: `${name} ${condition}` });
      return true;
    } catch (error) {
      // The server has parsed the query and refuses it: any other failure says nothing about the attribute.
      return grpcCode(error) === GRPC.invalidArgument ? false : undefined;
    }
  };
  const type: AttributeType = SEARCH_ATTRIBUTE_TYPES[name];
  if (type === 'Datetime') return (await isTaken("= 'x'")) === false && (await isTaken(`= '${new Date(0).toISOString()}'`)) === true;
  const startsWith = await isTaken(`STARTS_WITH 'x'`);
  if (type === 'Keyword') return startsWith === true;
  return startsWith === false && (await isTaken(`IN ('x')`)) === true;
}

/** What runs can be found by with each attribute. */
const FOUND_BY: Record<AttributeName, string> = {
  LonghaulAgent: 'agent or status',
  LonghaulStatus: 'agent or status',
  LonghaulWaitingFor: 'what they wait for',
  LonghaulTag: 'tag',
  LonghaulSession: 'session',
  LonghaulTenant: 'principal',
  LonghaulUser: 'principal',
  LonghaulStarted: 'their start',
};

function missingAttributesAdvice(namespace: string, names: AttributeName[], why: string): string {
  const flags = names.map((name) => `--name ${name} --type ${SEARCH_ATTRIBUTE_TYPES[name]}`).join(' ');
  const by = [...new Set(names.map((name) => FOUND_BY[name]))].join(' or ');
  return (
    `Runs in namespace "${namespace}" cannot be found by ${by}: search attributes are missing (${why}). ` +
    `An administrator can add them: temporal operator search-attribute create --namespace ${namespace} ${flags}`
  );
}

/** The parts of every worker that runs agents. */
interface WorkerParts extends Partial<Pick<RuntimeOptions, 'agents' | 'programs' | 'tools' | 'anchors' | 'providers'>> {
  versioning?: Versioning;
}

/** Throws a UsageError for invalid agents and providers: in JavaScript no type check reports them. */
export function checkWorkerParts(
  owner: string,
  { agents, programs = [], tools = [], anchors = [], providers, versioning }: WorkerParts,
): void {
  if (!Array.isArray(agents)) throw new UsageError(`${owner}: "agents" is ${valueText(agents)}: write a list of what defineAgent returned`);
  for (const agent of agents as readonly unknown[]) {
    if (kindOf(agent) === 'longhaul.agent') continue;
    throw new UsageError(`${owner}: "agents" has an element that is not an agent: create it with defineAgent`);
  }
  requireList(`${owner}: "programs"`, programs, 'programs: [triage], of what defineProgram returned');
  requireList(`${owner}: "tools"`, tools, 'tools: [search, refund], of what defineTool returned');
  requireList(`${owner}: "anchors"`, anchors, 'anchors: [polite], of what defineAnchor returned');
  if (typeof providers !== 'object' || providers === null) {
    throw new UsageError(`${owner}: "providers" is ${valueText(providers)}: write model clients by name, such as {openai: openai()}`);
  }
  for (const [name, client] of Object.entries(providers)) {
    if (typeof (client as { call?: unknown } | null)?.call === 'function') continue;
    throw new UsageError(
      `${owner}: "providers.${name}" is not a model client: write openai({…}), or an object with "call" and "capabilities"`,
    );
  }
  if (versioning !== undefined) requireKnown(`${owner}: "versioning"`, versioning, { deploymentName: true, buildId: true, behavior: true });
}

function kindOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
}

function valueText(value: unknown): string {
  return value === undefined ? 'missing' : typeof value === 'function' ? 'a function' : JSON.stringify(value);
}
