import { hostname } from 'node:os';
import type { Anchor } from '../src/anchors/anchors.ts';
import { canonicalJson, defined, isJsonObject } from '../src/core/domain/json.ts';
import { UsageError } from '../src/core/domain/errors.ts';
import { DEFAULT_MISSING_TIMEOUT_MS } from '../src/core/domain/missing-definitions.ts';
import { didYouMean, shownValue } from '../src/core/domain/text.ts';
import type { ModelClient } from '../src/core/domain/model.ts';
import type { ModelPrice } from '../src/core/domain/usage.ts';
import { type ContinueAsNewThresholds, DEFAULT_THRESHOLDS } from '../src/core/domain/run.ts';
import { type Duration, milliseconds, timerMilliseconds } from '../src/core/domain/time.ts';
import { DEFAULT_CHILD_CHECK_MS } from '../src/core/domain/run-input.ts';
import { type AnyAgent, shareProblem, withSubAgents } from '../src/define/agent-definition.ts';
import { requireMeansOfParts, type SharedOptions, sharedOptionsOf } from '../src/define/all-parts.ts';
import type { Resources } from '../src/define/context.ts';
import type { AuthorizeDecision, NotifyEnded, NotifyWaiting } from '../src/define/approvals.ts';
import { requireKnown, wholeNumber } from '../src/define/option-checks.ts';
import type { AnyProgram } from '../src/define/program/program-definition.ts';
import type { AnyTool } from '../src/define/tool-definition.ts';
import type { Governor } from '../src/governor/governor.ts';
import type { ProviderLimitOptions } from '../src/governor/limits.ts';
import type { MemoryStore } from '../src/memory/memory-store.ts';
import { type Embed, withEmbedding } from '../src/memory/search.ts';
import type { PriceTable } from '../src/model/models.ts';
import type { SecretSource } from '../src/secrets/secret-sources.ts';
import type { ArchiveSink } from '../src/stores/file-archive.ts';
import type { PayloadStore } from '../src/stores/payload-store.ts';
import type { StreamSink } from '../src/streams/stream-sink.ts';
import { Telemetry } from '../src/telemetry/telemetry.ts';
import { AgentRegistry } from './agents/agent-registry.ts';
import { AbortRegistry } from './attempts/attempt.ts';
import { MissingNames } from './attempts/failure.ts';
import { type BatchOptions, WorkerBatches } from './batch/worker-batches.ts';
import { WorkerStreams } from './streams/worker-streams.ts';
import { type NamespaceBounds, NamespaceCache } from './code/namespace.ts';
import { createAgentExecutor } from './executors/create-executor.ts';
import { WorkerGovernor } from './governor/worker-governor.ts';
import { sayWithoutBursts } from './bursts/pin-bursts.ts';
import { DEFAULT_NOTIFY_ENDED_MS } from './endings/end-of-execution.ts';
import { McpPool } from './mcp/mcp-pool.ts';
import { AnchorRegistry, ProgramRegistry } from './programs/program-registry.ts';
import { OutputStore, StepValuesCache } from './programs/step-values.ts';
import { ResourcePool } from './resources/resource-pool.ts';
import { PrincipalCache, SnapshotCache } from './run-queries/query-run.ts';
import { SentRequests } from './model-calls/sent-requests.ts';
import { CachedConversations, TranscriptCache } from './run-queries/transcript.ts';
import type { ActivityRuntime } from './runtime.ts';
import { SecretVault } from './secret-vault.ts';
import { WorkerSkills } from './skills/worker-skills.ts';
import type { CaptureContent, WorkerTelemetry } from './telemetry/call-spans.ts';
import { RunTraces } from './telemetry/run-traces.ts';
import { ToolSemaphore } from './tool-calls/execute-tool.ts';

/** Options of the activities of a worker. */
export interface RuntimeOptions extends SharedOptions {
  /** The agents, whose names must be different. */
  agents: readonly AnyAgent[];
  /** Model clients by provider name: the part before the slash of `provider/model`. */
  providers: Readonly<Record<string, ModelClient>>;
  /**
   * Collects model calls of runs with the tier `batch` into provider batches, by provider name: `{ openai: { window: '5m' } }`. Default:
   * none.
   */
  batch?: Readonly<Record<string, BatchOptions>>;
  /** Programs that runs may name. */
  programs?: readonly AnyProgram[];
  /** Tools that program steps may name, in addition to the tools that the worker's programs were defined with. */
  tools?: readonly AnyTool[];
  /** Anchors that programs may name, in addition to the built-in ones. */
  anchors?: readonly Anchor[];
  /** The memory of agents, and of the steps `remember` and `recall` of programs. Without it, agents with `memory` and programs with such steps do not start. */
  memory?: MemoryStore;
  /**
   * Returns a vector for each text, by your embedding model. The memory then also finds entries with the same meaning in other words. If it
   * fails, only texts are compared, and the worker logs a warning.
   */
  embed?: Embed;
  /**
   * Live objects that tools receive as `context.resources`: plain values are passed on unchanged; values made with `resource()` are opened
   * before the worker polls, checked for health, and closed when the worker has drained.
   */
  resources?: Resources;
  /**
   * Sources of `context.secret(name)`, tried in order until one has the secret. Default: the environment, `crm-token`
   * in `CRM_TOKEN`.
   */
  secrets?: SecretSource | readonly SecretSource[];
  /**
   * Stores results that are too large for the conversation, for tools with `overflow: 'spill'`, and program outputs that are too large to
   * be carried when a run continues as new.
   */
  payloadStore?: PayloadStore;
  /**
   * Keeps the events and steps of runs, so that they outlive the server's retention period. Applies to runs that begin
   * on this worker.
   */
  archive?: ArchiveSink;
  /**
   * The longest time that a failing archive may delay the end of a run or its next execution. After that the run continues and records
   * which events are not archived. Default 5 minutes.
   */
  archiveTimeout?: Duration;
  /**
   * Carries the live output of runs to readers: pieces of answers, and data that tools emit. Give the clients the same sink. Without it,
   * readers only get events and steps. A sink that is slow or down never delays a call.
   */
  streams?: StreamSink;
  /** Reports spans and metrics of runs: `await telemetry({ tracerProvider, meterProvider })`. */
  telemetry?: Telemetry;
  /** Whether spans have the arguments and results of tools and the answers of models, without the values of secrets. Default false. */
  captureContent?: CaptureContent;
  /**
   * The limits of providers, by name. Calls over them wait, and get fair shares. Give all workers that share a provider's key the same
   * limits, and one governor.
   */
  limits?: Readonly<Record<string, ProviderLimitOptions>>;
  /** Enforces the limits: `redisGovernor({ url })` for a fleet of workers. Default `memoryGovernor()`: only this process. */
  governor?: Governor;
  /**
   * Called with every decision before it is applied: returns the approver's name, or refuses. Without it, `by` is
   * recorded as the caller claims it.
   */
  authorize?: AuthorizeDecision;
  /** Called when a call begins to wait for a decision: at least once, with the same id on every attempt. */
  notify?: NotifyWaiting;
  /** Called when a run has ended, before its workflow closes: at least once, with the same id on every attempt. */
  notifyEnded?: NotifyEnded;
  /** The longest time that a failing `notifyEnded` may delay the end of a run. Default 5 minutes. */
  notifyEndedTimeout?: Duration;
  /**
   * Prices of models, by `provider/model`, in US dollars per million tokens. They take precedence over the built-in
   * list prices.
   */
  prices?: Readonly<Record<string, ModelPrice>>;
  /**
   * Limits of one execution, beyond which a run continues as new. Default: 3,600 events, 3,400,000 bytes, 1,000 Updates. A suggestion of
   * the server always applies.
   */
  continueAsNew?: Partial<ContinueAsNewThresholds>;
  /**
   * The time that a run waits for another worker of the task queue if this worker lacks an agent, a provider or a tool, before it ends with
   * `unknown_agent`, `unknown_provider` or `unknown_tool`. Make it as long as a deploy may take: milliseconds, or a text such as `30s`.
   * Default 10 minutes.
   */
  missingTimeout?: Duration;
  /**
   * The time between two heartbeats of a call in flight, and so the longest delay of a cancellation from another
   * process. Default 5 seconds.
   */
  heartbeatEvery?: Duration;
  /**
   * The longest time until a run notices that a child was terminated from outside, and a child that its parent was terminated. Default 1
   * hour.
   */
  childCheckEvery?: Duration;
  /**
   * Characters of conversation that this process keeps in memory. The JSON of calls and results that requests repeat may take the same
   * amount again. Default 64 million.
   */
  transcriptCacheSize?: number;
  /**
   * Bounds of the code namespaces that this process keeps in memory between two cells, each with its executor: their number, by default 32,
   * and their total memory, by default 1,024 megabytes. A run whose values are not kept runs its cells again.
   */
  codeCache?: Partial<Pick<NamespaceBounds, 'namespaces' | 'megabytes'>>;
}

/** Parts of the runtime that the worker provides. */
export interface RuntimeContext
  extends Pick<ActivityRuntime, 'searchAttributes' | 'upgradeOnContinueAsNew'>, Partial<Pick<ActivityRuntime, 'isStopping'>> {
  /** Logs a line for the worker's operator. */
  log: (line: string) => void;
  /** False: in a test no call waits for a batch, so calls of every tier are made at once. Default true. */
  batches?: boolean;
}

const DEFAULT_TRANSCRIPT_CACHE_SIZE = 64_000_000;

function conversationsOf({
  transcriptCacheSize = DEFAULT_TRANSCRIPT_CACHE_SIZE,
}: RuntimeOptions): Pick<ActivityRuntime, 'transcripts' | 'conversations'> {
  const transcripts = new TranscriptCache(transcriptCacheSize);
  return { transcripts, conversations: new CachedConversations(transcripts) };
}

/**
 * Creates the state that the activities of a worker share. Reads the folders of skills, and opens nothing before an activity needs it.
 * Throws a UsageError for duplicate agents, missing providers, invalid prices, a tool that spills without a payload store, an agent with
 * `memory` without a memory, and tools that need a missing resource.
 */
export function createRuntime(options: RuntimeOptions, context: RuntimeContext): ActivityRuntime {
  const programs = new ProgramRegistry(options.programs ?? [], options.tools ?? []);
  const agents = checkedAgents(programs.withAgents(options.agents));
  requireStore({ ...options, agents, tools: programs.tools });
  requireMeans(agents, options);
  const { log, searchAttributes, upgradeOnContinueAsNew, isStopping = () => false } = context;
  const secrets = new SecretVault(options.secrets);
  const resourcePool = workerResources(options.resources ?? {}, { agents, programTools: programs.tools, secrets, log });
  return {
    registry: new AgentRegistry(agents, options.providers, programs, sharedOptionsOf(options)),
    programs,
    skills: new WorkerSkills(agents),
    anchors: new AnchorRegistry(options.anchors ?? []),
    memory: memoryOf(options, log),
    stepValues: new StepValuesCache(new OutputStore(options.payloadStore)),
    resourcePool,
    secrets,
    mcp: mcpPool(secrets, log),
    otherActivities: new Set(),
    payloadStore: options.payloadStore,
    archive: options.archive,
    ...optionalParts(options, secrets, log),
    ...defined({ batches: batchesOf(options, agents, context) }),
    archiveTimeoutMs: timerMilliseconds(options.archiveTimeout ?? '5m', 'the worker: "archiveTimeout"'),
    authorize: checkedFunction('authorize', options.authorize),
    notify: checkedFunction('notify', options.notify),
    notifyEnded: checkedFunction('notifyEnded', options.notifyEnded),
    notifyEndedTimeoutMs: timerMilliseconds(options.notifyEndedTimeout ?? DEFAULT_NOTIFY_ENDED_MS, 'the worker: "notifyEndedTimeout"'),
    prices: checkPrices(options.prices ?? {}),
    ...conversationsOf(options),
    sentRequests: new SentRequests(),
    snapshots: new SnapshotCache(),
    principals: new PrincipalCache(),
    createExecutor: createAgentExecutor,
    namespaces: new NamespaceCache(namespaceBounds(options.codeCache)),
    aborts: new AbortRegistry(),
    isStopping,
    toolSemaphore: new ToolSemaphore(),
    continueAsNew: checkedThresholds(options.continueAsNew),
    upgradeOnContinueAsNew,
    identity: `${process.pid}@${hostname()}`,
    missingNames: new MissingNames(),
    missingTimeoutMs: milliseconds(options.missingTimeout ?? DEFAULT_MISSING_TIMEOUT_MS, 'the worker: "missingTimeout"'),
    heartbeatMs: timerMilliseconds(options.heartbeatEvery ?? '5s', 'the worker: "heartbeatEvery"'),
    childCheckMs: timerMilliseconds(options.childCheckEvery ?? DEFAULT_CHILD_CHECK_MS, 'the worker: "childCheckEvery"'),
    logOnce: logOnceOf(options, agents, log),
    searchAttributes,
  };
}

/** Throws a UsageError for an agent that the worker cannot run: found at run time, it would cost a run. */
function requireMeans(agents: readonly AnyAgent[], options: RuntimeOptions): void {
  for (const agent of agents) requireMeansOfParts(`agent "${agent.name}"`, agent, options);
}

/** Returns the batches of a worker. Throws a UsageError for invalid options, and for an agent whose tier it cannot serve. */
function batchesOf(
  { batch = {}, providers }: RuntimeOptions,
  agents: readonly AnyAgent[],
  context: RuntimeContext,
): WorkerBatches | undefined {
  if (context.batches === false) return undefined;
  const batches = new WorkerBatches(batch, providers);
  batches.requireFor(agents);
  return batches;
}

/** Returns the telemetry of the worker's runs. Throws a UsageError for an invalid value, and for `captureContent` without telemetry. */
function telemetryOf({ telemetry, captureContent = false }: RuntimeOptions, secrets: SecretVault): WorkerTelemetry | undefined {
  if (captureContent !== false && captureContent !== 'redacted')
    throw new UsageError(`the worker: "captureContent" is ${JSON.stringify(captureContent)}: write "redacted", or leave it out`);
  if (telemetry === undefined && captureContent !== false)
    throw new UsageError('the worker has "captureContent" but no "telemetry": give it await telemetry({ tracerProvider })');
  if (telemetry === undefined) return undefined;
  if (!(telemetry instanceof Telemetry))
    throw new UsageError(
      'the worker: "telemetry" is invalid: write await telemetry({ tracerProvider }), with telemetry of "longhaul/worker"',
    );
  telemetry.requireOwnIds();
  return { telemetry, captureContent, redact: (value) => secrets.redactJson(value), traces: new RunTraces() };
}

/** Returns the optional parts of a worker, as its options require. */
function optionalParts(
  options: RuntimeOptions,
  secrets: SecretVault,
  log: (line: string) => void,
): Pick<ActivityRuntime, 'streams' | 'telemetry' | 'governor'> {
  const telemetry = telemetryOf(options, secrets);
  const governor = WorkerGovernor.of(options, { providers: Object.keys(options.providers), telemetry, log });
  return defined({ streams: streamsOf(options, log, telemetry), telemetry, governor });
}

/** Returns the streams of the worker, if it has a sink. */
function streamsOf(
  { streams }: RuntimeOptions,
  log: (line: string) => void,
  reported: WorkerTelemetry | undefined,
): WorkerStreams | undefined {
  const dropped = (entries: number): void => reported?.telemetry.measure((metrics) => metrics.streamDropped(entries));
  return streams && new WorkerStreams(streams, log, dropped);
}

/** Returns a function that logs each line once. Logs notes about the worker's agents immediately. */
function logOnceOf({ streams }: RuntimeOptions, agents: readonly AnyAgent[], log: (line: string) => void): (line: string) => void {
  const logOnce = onceOnly(log);
  if (streams !== undefined) sayWithoutBursts(agents, logOnce);
  return logOnce;
}

/** The maximum number of remembered lines. */
const MAX_LOGGED = 1_000;

function onceOnly(log: (line: string) => void): (line: string) => void {
  const logged = new Set<string>();
  return (line) => {
    if (logged.has(line)) return;
    if (logged.size >= MAX_LOGGED) logged.clear();
    logged.add(line);
    log(line);
  };
}

/** Returns the memory of the worker, with its embedding. Throws a UsageError for an `embed` that is not a function or has no memory. */
function memoryOf({ memory, embed }: RuntimeOptions, log: (line: string) => void): MemoryStore | undefined {
  if (embed === undefined) return memory;
  if (typeof embed !== 'function') throw new UsageError(`the worker: "embed" is ${JSON.stringify(embed)}: write a function`);
  if (memory === undefined) throw new UsageError('the worker has "embed" but no "memory": give it one, such as sqliteMemory({ file })');
  return withEmbedding(memory, embed, { log });
}

/**
 * Returns a function from the worker's options. Throws a UsageError for any other value: every decision and notice would fail.
 */
function checkedFunction<Given extends AuthorizeDecision | NotifyWaiting | NotifyEnded>(
  name: string,
  value: Given | undefined,
): Given | undefined {
  if (value === undefined || typeof value === 'function') return value;
  throw new UsageError(`the worker: "${name}" is ${JSON.stringify(value)}: write a function`);
}

/** Returns all thresholds of a run if at least one is set. Throws a UsageError for a threshold that is not a positive integer. */
function checkedThresholds(overrides: Partial<ContinueAsNewThresholds> | undefined): ContinueAsNewThresholds | undefined {
  if (overrides === undefined) return undefined;
  requireKnown('the worker: "continueAsNew"', overrides, DEFAULT_THRESHOLDS);
  for (const [name, value] of Object.entries(overrides)) wholeNumber(`the worker: "continueAsNew.${name}"`, value, 1);
  return { ...DEFAULT_THRESHOLDS, ...overrides };
}

/**
 * Throws a UsageError for a tool that spills or makes images without a store: found at run time, the missing store would cost the result.
 */
function requireStore({ agents, tools = [], payloadStore }: RuntimeOptions): void {
  if (payloadStore !== undefined) return;
  const ofProgram = tools.find(({ overflow }) => overflow === 'spill');
  if (ofProgram !== undefined) throw spillsNowhere(`tool "${ofProgram.name}" of programs`);
  for (const agent of agents) {
    const spilling = [
      ...agent.tools.map((tool) => ({ what: `tool "${tool.name}"`, overflow: tool.overflow })),
      ...(agent.mcp ?? []).map((server) => ({ what: `MCP server "${server.name}"`, overflow: server.overflow })),
    ].find(({ overflow }) => overflow === 'spill');
    if (spilling !== undefined) throw spillsNowhere(`${spilling.what} of agent "${agent.name}"`);
    const drawing = agent.hosted?.find(({ name }) => name === IMAGES);
    if (drawing !== undefined) {
      throw new UsageError(
        `agent "${agent.name}" has the hosted tool "${drawing.id}", whose images are kept in a payload store, but the worker has no "payloadStore": give it one, such as fileStore({directory})`,
      );
    }
  }
}

/** The name of the hosted tool that makes images. */
const IMAGES = 'image_generation';

function spillsNowhere(tool: string): UsageError {
  return new UsageError(
    `${tool} has "overflow": "spill", but the worker has no "payloadStore": give it one, such as fileStore({directory})`,
  );
}

/** Returns a worker's bounds for code namespaces. Throws a UsageError for a bound that is not a positive integer. */
function namespaceBounds(bounds: RuntimeOptions['codeCache'] = {}): Partial<NamespaceBounds> {
  requireKnown('the worker: "codeCache"', bounds, { namespaces: true, megabytes: true });
  for (const [name, value] of Object.entries(bounds)) wholeNumber(`the worker: "codeCache.${name}"`, value, 1);
  return bounds;
}

/** Creates the pool of MCP connections. The MCP client is loaded with the first connection, because most workers need none. */
function mcpPool(secrets: SecretVault, log: (line: string) => void): McpPool {
  return new McpPool(async (server, stop) => {
    const { openConnection } = await import('./mcp/open-connection.ts');
    return openConnection(server, { secrets, log }, stop);
  });
}

/**
 * Returns the prices of a worker. Throws a UsageError that names the model of an invalid price, because a limit in dollars could not be
 * enforced with it.
 */
function checkPrices(prices: PriceTable): PriceTable {
  for (const [model, price] of Object.entries(prices)) {
    const owner = `the worker: "prices" of "${model}"`;
    if (!/^[^/]+\/./.test(model)) throw new UsageError(`the worker: "prices" has "${model}": write "provider/model"`);
    if (typeof price !== 'object' || price === null) {
      throw new UsageError(`${owner} are ${JSON.stringify(price)}: write {input, output, cachedInput} in US dollars per million tokens`);
    }
    requireKnown(owner, price, { input: true, output: true, cachedInput: true, cacheWrite: true, batch: true, hosted: true });
    const { input, output, cachedInput = input, cacheWrite = 1, batch = 1, hosted = {} } = price;
    for (const [name, dollars] of Object.entries({ input, output, cachedInput })) {
      if (Number.isFinite(dollars) && dollars >= 0) continue;
      throw new UsageError(`${owner}: "${name}" is ${shownValue(dollars)}: write US dollars per million tokens`);
    }
    for (const [name, factor] of Object.entries({ cacheWrite, batch })) {
      if (Number.isFinite(factor) && factor >= 0) continue;
      throw new UsageError(`${owner}: "${name}" is ${shownValue(factor)}: write a factor on the price, such as 1.25`);
    }
    if (!isJsonObject(hosted)) throw new UsageError(`${owner}: "hosted" is ${JSON.stringify(hosted)}: write { web_search: 10 }`);
    for (const [name, dollars] of Object.entries(hosted)) {
      if (typeof dollars === 'number' && Number.isFinite(dollars) && dollars >= 0) continue;
      throw new UsageError(`${owner}: "hosted.${name}" is ${shownValue(dollars)}: write US dollars for a thousand calls`);
    }
  }
  return prices;
}

/** The parts of a worker that its resources need. */
interface WorkerResourceOptions {
  agents: readonly AnyAgent[];
  /** The tools that steps of programs call. */
  programTools: readonly AnyTool[];
  secrets: SecretVault;
  log: (line: string) => void;
}

/** Creates the resources of a worker. Throws a UsageError for a tool that needs a resource that the worker lacks. */
function workerResources(resources: Resources, { agents, programTools, secrets, log }: WorkerResourceOptions): ResourcePool {
  const pool = new ResourcePool(resources, {
    secret: (nameOrReference) => secrets.resolve(nameOrReference),
    redact: (text) => secrets.redact(text),
    log,
  });
  for (const agent of agents) {
    for (const { name, resources: needed = [] } of agent.tools) pool.require(`tool "${name}" of agent "${agent.name}"`, needed);
  }
  for (const { name, resources: needed = [] } of programTools) pool.require(`tool "${name}" of programs`, needed);
  return pool;
}

/**
 * Returns the agents of a worker and the agents that their tools run. Throws a UsageError with the path for a tool that runs an unknown
 * agent, shares deps that the agent does not have, or is final with an answer of another form; and for agents that run each other.
 */
export function checkedAgents(agents: readonly AnyAgent[]): AnyAgent[] {
  const all = withSubAgents(agents);
  const byName = new Map(all.map((agent) => [agent.name, agent]));
  for (const agent of all) {
    for (const { name, agent: below } of agent.tools) {
      if (below === undefined) continue;
      const path = `agents.${agent.name}.tools.${name}`;
      const found = byName.get(below.name);
      if (found === undefined) throw unknownAgent(`${path}.agent`, below.name, [...byName.keys()]);
      if (below.kept && found.flow !== undefined)
        throw new UsageError(`${path}.kept: "${found.name}" is a flow, which ends with its answer: only an agent is kept between calls`);
      // The agents of a parallel flow get all deps, which are checked when its run starts.
      const problem = below.branch ? undefined : shareProblem(found, below.share);
      if (problem !== undefined) throw new UsageError(`${path}.share: ${problem}`);
      if (below.final && !hasFormOf(agent, found)) {
        throw new UsageError(
          `${path}.final: agent "${found.name}" answers in another form than "output" of agent "${agent.name}": give both the same schema`,
        );
      }
    }
  }
  const cycle = cycleIn(byName);
  if (cycle !== undefined)
    throw new UsageError(`agents: ${cycle.map((name) => `"${name}"`).join(' runs ')}: agents must not run each other in a circle`);
  return all;
}

function unknownAgent(path: string, name: string, known: string[]): UsageError {
  const names = known.map((one) => `"${one}"`).join(', ');
  return new UsageError(`${path}: this worker has no agent "${name}" (it has: ${names})${didYouMean(name, known)}: add it to "agents"`);
}

/** True if an agent's answers have the form that another agent's answers must have. */
function hasFormOf({ output }: AnyAgent, { output: below }: AnyAgent): boolean {
  if (output === undefined) return true;
  return below !== undefined && canonicalJson(output.schema) === canonicalJson(below.schema);
}

/** Returns the names of agents that run each other, the first one again at the end; undefined if there are none. */
function cycleIn(agents: ReadonlyMap<string, AnyAgent>): string[] | undefined {
  const done = new Set<string>();
  const visit = (name: string, above: readonly string[]): string[] | undefined => {
    if (above.includes(name)) return [...above.slice(above.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const { agent } of agents.get(name)?.tools ?? []) {
      const cycle = agent === undefined ? undefined : visit(agent.name, [...above, name]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  };
  for (const name of agents.keys()) {
    const cycle = visit(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
