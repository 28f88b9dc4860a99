import type { AuthorizeDecision, NotifyWaiting } from '../define/decision-hooks.ts';
import type { DepsOption, GivenDepsOf, OutputOf, ResourcesOf, UnfinishedOf } from '../define/agent-definition.ts';
import type { NotifyEnded } from '../define/ended-hook.ts';
import type { ResourcesOption } from '../define/options/needed-resources.ts';
import type { ModelSettings } from '../core/domain/agent/agent-snapshot.ts';
import type { ContentPart } from '../core/domain/content/content.ts';
import type { Duration } from '../core/domain/run/duration.ts';
import type { Event } from '../core/domain/record/event.ts';
import type { JsonObject } from '../core/domain/json/json.ts';
import type { LimitOptions } from '../core/domain/agent/limit-options.ts';
import type { ModelClient, ModelRequest } from '../core/domain/model/model.ts';
import type { ModelPrice } from '../core/domain/model/price.ts';
import type { DefaultOutput, RunResult } from '../core/domain/run/run-result.ts';
import type { StepResult } from '../core/domain/record/step.ts';
import type { PayloadStore } from '../payload-store/payload-store.ts';
import type { SecretSource } from '../secrets/secret-source.ts';
import type { Decide } from './decisions.ts';
import type { EffectsLedger } from './effects-ledger.ts';
import type { Fault } from './faults.ts';
import type { Occurrence } from './meanwhile.ts';

/**
 * What a test says about a run, in memory and on a server alike: with the deps of the agent, and the resources that its
 * tools name. `resource()`s are opened and closed. The ledger is there too, as `ledger`.
 */
export type TestOptions<Agent = unknown> = TestCircumstances &
  DepsOption<GivenDepsOf<Agent>> &
  ResourcesOption<ResourcesOf<Agent>, 'ledger'>;

/** What a test says about a run, whatever its agent needs. */
export interface TestCircumstances {
  input: string | ContentPart[];
  /** The id of the run. Default: the name of the agent and a UUID, as of `client.start`. */
  runId?: string;
  /** Answers every call of the agent's models: a `scriptedModel`, whose script has to be used up, or any other client. */
  model: ModelClient;
  /** The values of secrets by name, or where a worker would read them. Default: the environment. */
  secrets?: Readonly<Record<string, string>> | SecretSource | readonly SecretSource[];
  /** Where tools spill what is too large. */
  payloadStore?: PayloadStore;
  prices?: Readonly<Record<string, ModelPrice>>;
  /** Who may decide, as the worker is told. */
  authorize?: AuthorizeDecision;
  /** Told what waits, as by the worker. */
  notify?: NotifyWaiting;
  /** Told how the run has ended, as by the worker. */
  notifyEnded?: NotifyEnded;
  /** Overrides limits of the agent. */
  limits?: LimitOptions;
  /** How long the run may take, from its start: the limit `deadline`. */
  deadline?: Duration;
  /** Settings of the model, each instead of the agent's own. */
  settings?: ModelSettings;
  /** Words of the run, which a provider may choose its key by. */
  tags?: readonly string[];
  /** Decides what waits. Without it nobody does. */
  decide?: Decide;
  /** What is said to the run while it goes on. */
  meanwhile?: readonly Occurrence[];
  /** What goes wrong. */
  faults?: readonly Fault[];
  /** Where effects are written down. Default: a new one. */
  ledger?: EffectsLedger;
  /** How long the run may take in real time. Default 30 seconds in memory, 60 on a server. */
  timeout?: Duration;
}

/** What came of a run of the agent in a test. */
export type TestedRunOf<Agent> = TestedRun<OutputOf<Agent>, UnfinishedOf<Agent>>;

/** The record of a run in a test. */
export interface TestedRecord {
  /** The whole record. */
  readonly events: readonly Event[];
  readonly steps: readonly StepResult[];
  /** As the run has left them. */
  readonly deps: JsonObject;
  /** The state that tools have set, as the run has left it. */
  readonly state: JsonObject;
  /** Every request to the model, in its order: each attempt is one. */
  readonly requests: readonly ModelRequest[];
}

/** What came of a run in a test. */
export interface TestedRun<Output = DefaultOutput, Unfinished = Output | string> extends TestedRecord {
  /** As a client is given it, with its steps. */
  readonly result: RunResult<Output, Unfinished>;
  readonly ledger: EffectsLedger;
}
