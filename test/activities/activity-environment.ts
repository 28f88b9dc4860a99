import { setImmediate as soon } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Info } from '@temporalio/activity';
import { ActivityCancellationDetails, defaultPayloadConverter } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import protocol from '@temporalio/proto';
import { DefaultLogger, type LogEntry } from '@temporalio/worker';
import { AbortRegistry } from '../../activities/attempts/attempt.ts';
import { ToolSemaphore } from '../../activities/tool-calls/execute-tool.ts';
import { NamespaceCache } from '../../activities/code/namespace.ts';
import { createAgentExecutor } from '../../activities/executors/create-executor.ts';
import { AgentRegistry } from '../../activities/agents/agent-registry.ts';
import { ResourcePool } from '../../activities/resources/resource-pool.ts';
import { McpPool } from '../../activities/mcp/mcp-pool.ts';
import { WorkerSkills } from '../../activities/skills/worker-skills.ts';
import { AnchorRegistry, ProgramRegistry } from '../../activities/programs/program-registry.ts';
import { StepValuesCache } from '../../activities/programs/step-values.ts';
import { PrincipalCache, SnapshotCache } from '../../activities/run-queries/query-run.ts';
import type { ActivityRuntime } from '../../activities/runtime.ts';
import { SecretVault } from '../../activities/secret-vault.ts';
import { SentRequests } from '../../activities/model-calls/sent-requests.ts';
import { CachedConversations, TranscriptCache } from '../../activities/run-queries/transcript.ts';
import { MissingNames } from '../../activities/attempts/failure.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { Resources } from '../../src/define/context.ts';
import type { ModelClient } from '../../src/core/domain/model.ts';
import { emptyWindow, extendWindow, type Folded } from '../../src/core/domain/window.ts';
import { QUERIES, type TranscriptAnswer } from '../../src/core/protocol.ts';
import { scriptedModel } from '../../src/testing/index.ts';

/** The key of one execution in the abort registry: all activities of these tests belong to it. */
export const EXECUTION = 'default/run-1/execution-1';

/** Options of an activity's environment. */
export interface EnvironmentOptions extends Omit<Partial<ActivityRuntime>, 'resourcePool'> {
  /** The resources of the worker. They are opened when they are used. */
  resources?: Resources;
  agents?: readonly AnyAgent[];
  model?: ModelClient;
  /** The record of the run. */
  events?: Folded[];
  /** The answers of the run, by the name of the query. If the value is an error, the query throws it. */
  answers?: Record<string, unknown>;
  /** The details of the last heartbeat of the attempts before. */
  heartbeatDetails?: unknown;
  /** What the server says of activities that have not ended. */
  pendingActivities?: object[];
  /** Further data of Temporal about the activity and its attempt. */
  info?: Partial<Info>;
}

/** The environment of an activity without a server: a runtime, a run that answers queries, and recorded heartbeats. */
export interface ActivityEnvironment {
  runtime: ActivityRuntime;
  /** The queries so far, with their arguments. */
  asked: [query: string, argument: unknown][];
  /** The details of all heartbeats. */
  heartbeats: unknown[];
  /** The workflows that were signalled, and started if need be. */
  signalled: string[];
  /** The lines that were logged, without the debug lines of the SDK. */
  logged: LogEntry[];
  run<Input, Output>(activity: (input: Input) => Promise<Output>, input: Input): Promise<Output>;
  /** Cancels the activity as the server does, by a heartbeat. */
  cancel(): void;
  /** Cancels the activity as a worker does when it shuts down. */
  shutDown(): void;
}

/** Returns the server's description of the run. */
function descriptionOfRun(): object {
  return protocol.temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse.fromObject({
    workflowExecutionInfo: {
      execution: { workflowId: 'run-1', runId: 'execution-1' },
      type: { name: 'agentRun' },
      status: 1,
      startTime: { seconds: 1, nanos: 0 },
    },
  });
}

/** Makes an environment. By default the run has one event, a message of a user. */
export function activityEnvironment(options: EnvironmentOptions = {}): ActivityEnvironment {
  const {
    agents = [],
    model = scriptedModel([]),
    events = QUESTION,
    answers = {},
    heartbeatDetails,
    pendingActivities = [],
    info,
    resources = {},
    ...changes
  } = options;
  const asked: ActivityEnvironment['asked'] = [];
  const heartbeats: unknown[] = [];
  const signalled: string[] = [];
  const logged: LogEntry[] = [];
  const query = async (name: string, argument: unknown): Promise<unknown> => {
    asked.push([name, argument]);
    const answer = { [QUERIES.transcript]: transcript(events), ...answers }[name];
    if (answer === undefined) throw new Error(`the run of this test does not answer "${name}"`);
    return answer;
  };
  const run = (_: unknown, work: () => unknown): unknown => work();
  // The only parts of a client that the activities of these tests use.
  const converter = { payloadConverter: defaultPayloadConverter, payloadCodecs: [] };
  const parts = {
    withDeadline: run,
    withAbortSignal: run,
    workflow: {
      getHandle: () => ({ query }),
      signalWithStart: async (_: string, { workflowId }: { workflowId: string }) => void signalled.push(workflowId),
    },
    options: {
      loadedDataConverter: converter,
      interceptors: { workflow: [{ describe: () => soon(Object.assign(descriptionOfRun(), { pendingActivities })) }] },
    },
  };
  const client = parts as unknown as Client;
  const workflowExecution = { workflowId: 'run-1', runId: 'execution-1' };
  const now = Date.now();
  const mock = new MockActivityEnvironment(
    { workflowExecution, heartbeatDetails, scheduledTimestampMs: now, currentAttemptScheduledTimestampMs: now, ...info },
    { client, logger: new DefaultLogger('DEBUG', (entry) => (isOfSdk(entry) ? undefined : logged.push(entry))) },
  );
  mock.on('heartbeat', (details: unknown) => heartbeats.push(structuredClone(details)));
  return {
    runtime: { ...runtimeOf(agents, model, resources), ...changes },
    asked,
    heartbeats,
    signalled,
    logged,
    run: (activity, input) => mock.run(activity, input),
    cancel: () => mock.cancel(),
    shutDown: () => mock.cancel('WORKER_SHUTDOWN', SHUT_DOWN),
  };
}

function isOfSdk({ level, meta }: LogEntry): boolean {
  return level === 'DEBUG' && meta?.['sdkComponent'] !== 'activity';
}

const SHUT_DOWN = new ActivityCancellationDetails({ workerShutdown: true });

const QUESTION: Folded[] = [{ id: 'e0', author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] }];

/** What a worker with these agents has, without MCP servers, programs, stores and memory. Their models have the provider `scripted`. */
export function runtimeOf(agents: readonly AnyAgent[], model: ModelClient, resources: Resources = {}): ActivityRuntime {
  const resourcePool = poolOf(resources);
  const transcripts = new TranscriptCache(1_000_000);
  return {
    skills: new WorkerSkills(agents),
    registry: new AgentRegistry(agents, { scripted: model }),
    resourcePool,
    secrets: new SecretVault(),
    mcp: new McpPool(() => Promise.reject(new Error('no MCP servers'))),
    otherActivities: new Set(),
    programs: new ProgramRegistry([], []),
    anchors: new AnchorRegistry([]),
    memory: undefined,
    stepValues: new StepValuesCache(),
    payloadStore: undefined,
    archive: undefined,
    archiveTimeoutMs: 300_000,
    authorize: undefined,
    notify: undefined,
    prices: {},
    transcripts,
    conversations: new CachedConversations(transcripts),
    sentRequests: new SentRequests(),
    snapshots: new SnapshotCache(),
    principals: new PrincipalCache(),
    createExecutor: createAgentExecutor,
    namespaces: new NamespaceCache(),
    aborts: new AbortRegistry(),
    isStopping: () => false,
    toolSemaphore: new ToolSemaphore(),
    continueAsNew: undefined,
    upgradeOnContinueAsNew: false,
    identity: 'worker-1',
    missingTimeoutMs: 600_000,
    missingNames: new MissingNames(),
    heartbeatMs: 60_000,
    logOnce: () => undefined,
    searchAttributes: () => Promise.resolve({ agentAndStatus: false, waitingFor: false }),
  };
}

/** The resource pool of a worker without secrets. */
export function poolOf(resources: Resources): ResourcePool {
  return new ResourcePool(resources, {
    secret: () => Promise.reject(new Error('no secrets')),
    redact: (text) => text,
    log: () => undefined,
  });
}

function transcript(record: Folded[]): TranscriptAnswer {
  const { through, lastEventId, events } = record.reduce(extendWindow, emptyWindow());
  return { type: 'window', through, lastEventId, from: 0, total: events.length, events };
}
