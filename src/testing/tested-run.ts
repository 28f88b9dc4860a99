import type { AuthorizeDecision, NotifyWaiting } from '../define/approvals.ts';
import type {
  AnyAgent,
  DepsOption,
  GivenDepsOf,
  OutputOf,
  ResourcesOf,
  ResourcesOption,
  UnfinishedOf,
} from '../define/agent-definition.ts';
import type { AnyHook, NotifyEnded } from '../define/hooks.ts';
import type { ModelSettings } from '../core/domain/agent.ts';
import type { Duration } from '../core/domain/time.ts';
import type { Event } from '../core/domain/record.ts';
import type { JsonObject } from '../core/domain/json.ts';
import type { LimitOptions } from '../core/domain/limits.ts';
import type { ModelClient, ModelRequest } from '../core/domain/model.ts';
import type { ModelPrice } from '../core/domain/usage.ts';
import type { DefaultOutput, RunResult } from '../core/domain/result.ts';
import type { RunOpening } from '../core/domain/run-input.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import type { ExecutionTrace } from '../core/domain/trace.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { PayloadStore } from '../stores/payload-store/payload-store.ts';
import type { SecretSource } from '../secrets/secret-sources.ts';
import type { StreamSink } from '../streams/stream-sink.ts';
import type { Decide } from './decisions.ts';
import type { EffectsLedger } from './effects-ledger.ts';
import type { Principal } from '../core/domain/run.ts';
import type { Fault } from './faults.ts';
import type { Occurrence } from './meanwhile.ts';

/**
 * The options of a test, in memory and on a server: those of any run, the agent's deps, and the resources that its
 * tools name. A `resource()` is opened and closed. The ledger is available as the resource `ledger`.
 */
export type TestOptions<Agent = unknown> = TestCircumstances &
  RunOpening &
  DepsOption<GivenDepsOf<Agent>> &
  ResourcesOption<ResourcesOf<Agent>, 'ledger'>;

/** The options of a test that do not depend on the agent's types, without the conversation that the run begins with. */
export interface TestCircumstances {
  /** The id of the run. Default: the name of the agent and a UUID, as of `client.start`. */
  runId?: string;
  /** The model that answers every call: a `scriptedModel`, whose script must be used up, or any other model client. */
  model: ModelClient;
  /** Further agents of the worker. Those that the agent hands over to are there already, unless it names them by name alone. */
  agents?: readonly AnyAgent[];
  /** The values of secrets by name, or the source of a worker's secrets. Default: the environment. */
  secrets?: Readonly<Record<string, string>> | SecretSource | readonly SecretSource[];
  /** The store for large tool results. */
  payloadStore?: PayloadStore;
  /** The memory of agents with `memory`. */
  memory?: MemoryStore;
  prices?: Readonly<Record<string, ModelPrice>>;
  /** The hooks of all agents, as on a worker. */
  hooks?: readonly AnyHook[];
  /** Checks the author of each decision, as on a worker. */
  authorize?: AuthorizeDecision;
  /** Receives a notice for each pending decision, as on a worker. */
  notify?: NotifyWaiting;
  /** Receives a notice when the run has ended, as on a worker. */
  notifyEnded?: NotifyEnded;
  /** Carries the live output of the run, as on a worker. */
  streams?: StreamSink;
  /** The state that the run begins with. */
  state?: JsonObject;
  /** Whom the run acts for. */
  principal?: Principal;
  /** Overrides limits of the agent. */
  limits?: LimitOptions;
  /** The limit `deadline`: the time that the run may take from its start. */
  deadline?: Duration;
  /** Settings of the model, which override the agent's own. */
  settings?: ModelSettings;
  /** Tags of the run, by which a provider may choose its key. */
  tags?: readonly string[];
  /** Makes the decisions that the run waits for. Without it they stay pending. */
  decide?: Decide;
  /** Messages, cancellations and raised limits while the run is running. */
  meanwhile?: readonly Occurrence[];
  /** The planned faults. */
  faults?: readonly Fault[];
  /** The ledger of effects. Default: a new one. */
  ledger?: EffectsLedger;
  /** The limit of the test in real time. Default 30 seconds in memory, 60 on a server. */
  timeout?: Duration;
}

/** The outcome of a test of this agent. */
export type TestedRunOf<Agent> = TestedRun<OutputOf<Agent>, UnfinishedOf<Agent>>;

/** The record of a run in a test. */
export interface TestedRecord {
  /** All events of the run. */
  readonly events: readonly Event[];
  readonly steps: readonly StepResult[];
  /** The deps at the end of the run. */
  readonly deps: JsonObject;
  /** The state that tools have set, at the end of the run. */
  readonly state: JsonObject;
  /** Every request to the model, in order. Each attempt is one request. */
  readonly requests: readonly ModelRequest[];
}

/** The outcome of a test. */
export interface TestedRun<Output = DefaultOutput, Unfinished = Output | string> extends TestedRecord {
  /** The result as a client receives it, with its steps. */
  readonly result: RunResult<Output, Unfinished>;
  /** The trace of the run: a span for each step, with its model calls, tool calls and waits. */
  readonly trace: ExecutionTrace;
  readonly ledger: EffectsLedger;
}
