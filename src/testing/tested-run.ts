import { AssertionError } from 'node:assert';
import type { CreateWorkerOptions } from '../../worker/create-worker.ts';
import type { Anchor } from '../anchors/anchors.ts';
import type { StartSettings } from '../client/start-workflow.ts';
import type { ApprovalView } from '../core/domain/approvals.ts';
import type { JsonObject } from '../core/domain/json.ts';
import type { ModelRequest } from '../core/domain/model.ts';
import type { Event } from '../core/domain/record.ts';
import type { DefaultOutput, ProgramResult, RunResult } from '../core/domain/result.ts';
import type { RunOpening } from '../core/domain/run-input.ts';
import type { Duration } from '../core/domain/time.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import type { ExecutionTrace } from '../core/domain/trace.ts';
import type {
  AnyAgent,
  DepsOption,
  GivenDepsOf,
  OutputOf,
  ResourcesOf,
  ResourcesOption,
  UnfinishedOf,
} from '../define/agent-definition.ts';
import type { SharedOptions } from '../define/all-parts.ts';
import type { Resources } from '../define/context.ts';
import type { AnyProgram, GivenInputOf } from '../define/program/program-definition.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { SecretSource } from '../secrets/secret-sources.ts';
import type { TestModel } from './harness/test-models.ts';
import type { Decide, Fault, Occurrence } from './test-plan.ts';

/**
 * The options of a test, in memory and on a server: the options of any run, the agent's deps, and the resources that its
 * tools name. A `resource()` is opened and closed. The ledger is available as the resource `ledger`.
 */
export type TestOptions<Agent = unknown> = TestCircumstances &
  RunOpening &
  DepsOption<GivenDepsOf<Agent>> &
  ResourcesOption<ResourcesOf<Agent>, 'ledger'>;

/** The parts of a worker that a test may have, as on a worker. */
export type TestWorkerParts = Pick<
  CreateWorkerOptions,
  'payloadStore' | 'memory' | 'prices' | 'authorize' | 'notify' | 'notifyEnded' | 'streams' | keyof SharedOptions
>;

/** The options of a test that do not depend on the agent's types, without the initial conversation. */
export interface TestCircumstances
  extends TestWorkerParts, Pick<StartSettings, 'state' | 'principal' | 'limits' | 'deadline' | 'settings' | 'tags'> {
  /** The id of the run. Default: the name of the agent and a UUID, as of `client.start`. */
  runId?: string;
  /**
   * The model that answers every call: a `scriptedModel`, whose script must be used up, or any other model client. For agents with
   * several models, one for each name: `{'anthropic/claude-sonnet-4-5': scriptedModel([…]), 'openai/gpt-5': scriptedModel([…])}`.
   */
  model: TestModel;
  /** Further agents of the worker. The agent's handoff targets are included, unless they are only given by name. */
  agents?: readonly AnyAgent[];
  /** The values of secrets by name, or the source of a worker's secrets. Default: the environment. */
  secrets?: Readonly<Record<string, string>> | SecretSource | readonly SecretSource[];
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
  /** All steps of the run. */
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
  /** The effects of its tools. */
  readonly ledger: EffectsLedger;
}

/** The options of a test of a program. */
export interface ProgramTestOptions<Program = AnyProgram> extends Omit<TestCircumstances, 'input' | 'settings'> {
  /** The input of the program. */
  input?: GivenInputOf<Program>;
  /** Data of the run for its tools. */
  deps?: JsonObject;
  /** Your own anchors that the program names. */
  anchors?: readonly Anchor[];
  /** The memory of the program. Default: a new one in the process. */
  memory?: MemoryStore;
  /** The live objects that its tools use. */
  resources?: Resources;
}

/** The outcome of a test of a program. */
export interface TestedProgram<Output> extends Omit<TestedRecord, 'steps'> {
  /** The result of the run. */
  readonly result: ProgramResult<Output>;
  /** The trace of the run. */
  readonly trace: ExecutionTrace;
  /** The effects of its tools. */
  readonly ledger: EffectsLedger;
}

/** The options of a test on a server. */
export type DurableTestOptions<Agent = unknown> = TestOptions<Agent> & ServerOptions;

/** The options that only a test on a server has. */
export interface ServerOptions {
  /** `host:port` of a Temporal server. Default: `TEMPORAL_ADDRESS`, else a server started for this test. */
  address?: string;
  /** The namespace. Default: one of the test server. */
  namespace?: string;
  /**
   * The time between two heartbeats. A call is considered lost after three missed ones. Default: 1 second if faults
   * lose calls, else 5.
   */
  heartbeatEvery?: Duration;
  /** Options of the Temporal Worker. */
  worker?: NonNullable<CreateWorkerOptions['worker']>;
}

/** One effect on an outside system, as a tool or its fake recorded it. */
export interface Effect {
  /** The idempotency key of the call, which is the same for all its attempts. */
  idempotencyKey: string;
  /** A description of the effect by the test: `refund 42`. */
  what: string;
}

/** The effects of a test on outside systems, with checks that none was repeated. */
export interface EffectsLedger {
  /** Every recorded effect in order, including repeated ones. */
  readonly acts: readonly Effect[];
  /** The effects on a service that recognizes idempotency keys: each key once. */
  readonly effects: readonly Effect[];
  /**
   * Records an effect. Returns false if this key has been recorded before: a service that recognizes keys would do
   * nothing.
   */
  act: (idempotencyKey: string, what: string) => boolean;
  /** Throws an AssertionError unless `what` was done exactly once, by one key. Without `what`, checks every effect. */
  assertOnce: (what?: string) => void;
  /** Throws an AssertionError if a key was recorded twice: for tools with `once` effects. */
  assertNotRepeated: (what?: string) => void;
  /** Throws an AssertionError unless exactly these effects were recorded, in any order, each by its own key. */
  assertEffects: (expected: readonly string[]) => void;
}

/**
 * Creates a ledger in which tools record their effects on outside systems, each with its idempotency key.
 *
 * @example
 * const ledger = effectsLedger();
 * const payments = { refund: (key: string, order: number) => ledger.act(key, `refund ${order}`) };
 */
export function effectsLedger(): EffectsLedger {
  const acts: Effect[] = [];
  const known = (idempotencyKey: string): Effect[] => acts.filter((one) => one.idempotencyKey === idempotencyKey);
  const effects = (): Effect[] => acts.filter((one) => known(one.idempotencyKey)[0] === one);
  const fail = (message: string): never => {
    throw new AssertionError({ message: `${message}. The ledger: ${listed(acts)}`, stackStartFn: fail });
  };
  return {
    acts,
    get effects() {
      return effects();
    },
    act: (idempotencyKey, what) => acts.push({ idempotencyKey, what }) > 0 && known(idempotencyKey).length === 1,
    assertOnce: (what) => {
      for (const one of what === undefined ? new Set(acts.map((act) => act.what)) : [what]) {
        const count = effects().filter((effect) => effect.what === one).length;
        if (count !== 1) fail(`"${one}" was done ${times(count)}, not once`);
      }
    },
    assertNotRepeated: (what) => {
      for (const effect of effects()) {
        const count = known(effect.idempotencyKey).length;
        if (count > 1 && (what ?? effect.what) === effect.what) fail(`"${effect.what}" was done ${times(count)} under one key`);
      }
    },
    assertEffects: (expected) => {
      const [done, wanted] = [
        effects()
          .map(({ what }) => what)
          .toSorted(),
        expected.toSorted(),
      ];
      if (JSON.stringify(done) !== JSON.stringify(wanted)) fail(`The effects are [${done.join(', ')}], not [${wanted.join(', ')}]`);
    },
  };
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function listed(acts: readonly Effect[]): string {
  return acts.length === 0 ? 'nothing' : acts.map(({ idempotencyKey, what }) => `${what} (${idempotencyKey})`).join(', ');
}

const MARKER = 'longhaul.undecided_run';

/** The error of a test whose run waits for a decision that `decide` does not make, without a deadline. */
export class UndecidedRun extends Error {
  /** The name of the class, equal in all copies of the package. */
  override readonly name = 'UndecidedRun';
  /** Identifies the error in all copies of the package. */
  readonly marker = MARKER;
  /** Everything that waits, in order. Empty if the run waits for a message. */
  readonly waiting: readonly ApprovalView[];
  /** The record of the run so far. */
  readonly record: TestedRecord;

  /** `testAgent` makes it. @internal */
  constructor(waiting: readonly ApprovalView[], record: TestedRecord) {
    super(waitsFor(waiting));
    this.waiting = waiting;
    this.record = record;
  }
}

/**
 * Returns true for the error of a test whose run waits for a decision that the test does not make. A test may expect it.
 *
 * @example
 * const error = await testAgent(desk, { input, model }).catch((thrown: unknown) => thrown);
 * if (isUndecidedRun(error)) assert.equal(error.waiting[0]?.toolName, 'refund');
 */
export function isUndecidedRun(error: unknown): error is UndecidedRun {
  return error instanceof Error && 'marker' in error && error.marker === MARKER;
}

function waitsFor([first]: readonly ApprovalView[]): string {
  const what = first === undefined ? 'a message or a decision' : `a decision on "${first.toolName}" (call "${first.callId}")`;
  return `The run waits for ${what}, the test does not decide it, and there is no deadline: add "decide" to the test`;
}
