import { AssertionError } from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { CompleteAsyncError, TimeoutFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { type InsideCall, withAroundCalls } from '../../../activities/bursts/around-calls.ts';
import type { ApprovalView } from '../../core/domain/approvals.ts';
import { errorCode, errorMessage, UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import type { ModelRequest } from '../../core/domain/model.ts';
import type { RunResultFields } from '../../core/domain/result.ts';
import { type Duration, milliseconds } from '../../core/domain/time.ts';
import { ACTIVITIES, type AskStepInput, type CallModelInput, type CallModelOutput, type RunToolInput } from '../../core/protocol.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import { type PartFields, toolNamesOfParts } from '../../define/all-parts.ts';
import type { AnyTool } from '../../define/tool-definition.ts';
import { within } from '../../streams/waits.ts';
import {
  checkDecision,
  type Decide,
  type Fault,
  faultText,
  type Moment,
  type Occurrence,
  occurrenceText,
  type TestDecision,
  type Waiting,
} from '../test-plan.ts';
import type { TestOptions } from '../tested-run.ts';
import { assertModelsUsedUp, type TestModel } from './test-models.ts';
import { realTurn } from '../../temporal/real-timers.ts';

/** The plan and state around one run in a test, in memory or on a server. */
export class Harness {
  readonly runId: string;
  readonly plan: Plan;
  readonly requests: ModelRequest[] = [];
  /** The step of the current model call. */
  readonly step = new AsyncLocalStorage<number>();
  /** Set once the run has started. */
  run: RunAccess | undefined;
  worker: WorkerAccess | undefined;
  /** Rejects if a planned action is impossible, which is a mistake in the test. */
  readonly failure: Promise<never>;
  readonly #over = Promise.withResolvers<void>();
  readonly #answered: number[] = [];
  /** The model calls of a program in starting order: the step and its attempt. */
  readonly #asked: string[] = [];
  #fail: (error: unknown) => void = () => undefined;
  #messages = 0;

  constructor(agent: Tested, { runId, faults, meanwhile }: Pick<TestOptions, 'runId' | 'faults' | 'meanwhile'>) {
    this.runId = runId ?? `${agent.name}-${randomUUID()}`;
    this.plan = new Plan(agent, faults, meanwhile);
    this.failure = new Promise((_, reject) => (this.#fail = reject));
    // The test awaits this while the run is running; it may reject before or after.
    this.failure.catch(() => undefined);
  }

  /** Fails the test. */
  fail(error: unknown): void {
    this.#fail(error);
  }

  /** Resolves once the run has ended. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Records that the run has ended. */
  end(): void {
    this.#over.resolve();
  }

  /** Returns the step of the model call after this many events. A retry belongs to the same step. */
  stepOf(through: number): number {
    const index = this.#answered.indexOf(through);
    return (index < 0 ? this.#answered.length : index) + 1;
  }

  /** Returns the number of a model call of a program. Further attempts of its activity belong to the same call. */
  stepOfAsk({ step, attempt = 1 }: Pick<AskStepInput, 'step' | 'attempt'>): number {
    const ask = `${step}#${attempt}`;
    if (!this.#asked.includes(ask)) this.#asked.push(ask);
    return this.#asked.indexOf(ask) + 1;
  }

  /** Records that the model call after this many events was answered. */
  answered(through: number): void {
    if (!this.#answered.includes(through)) this.#answered.push(through);
  }

  /** Performs a planned action on the run. Fails the test if the run refuses it. */
  async say(occurrence: Occurrence): Promise<void> {
    try {
      await this.#say(occurrence);
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  async #say(occurrence: Occurrence): Promise<unknown> {
    if (this.run === undefined) throw new Error('The run has not begun');
    const { idWord } = occurrence;
    return this.run.act(occurrence, idWord === undefined ? '' : `${idWord} ${++this.#messages}`);
  }
}

/**
 * The access of a test to its run, in memory or on a server. Each method rejects with a client's error if the run
 * refuses.
 */
export interface RunAccess {
  act(occurrence: Occurrence, id: string): Promise<unknown>;
  decide(id: string, waiting: ApprovalView, decision: TestDecision): Promise<unknown>;
}

/** The faults that a test can cause in its worker. */
interface WorkerAccess {
  /**
   * Kills the worker immediately and starts another one. Never resolves, because the caller is part of the killed
   * worker.
   */
  kill(): Promise<never>;
  /** Disconnects the worker from its server for this many milliseconds, starting now. */
  disconnect(ms: number): void;
}

type FaultOf<Type extends Fault['type']> = Extract<Fault, { type: Type }>;

/** The agent or the program that a test runs. */
interface Tested extends PartFields {
  readonly kind: 'longhaul.agent' | 'longhaul.program';
  readonly name: string;
  readonly tools: readonly AnyTool[];
  readonly mcp?: AnyAgent['mcp'];
}

/** The plan of a test: faults and actions on the run, all of which must happen. */
export class Plan {
  readonly #faults: readonly Fault[];
  readonly #occurrences: readonly Occurrence[];
  readonly #happened = new Set<Fault | Occurrence>();

  /** Throws a UsageError for a tool that the agent does not have, or whose calls a test cannot act on. */
  constructor(agent: Tested, faults: readonly Fault[] = [], occurrences: readonly Occurrence[] = []) {
    for (const fault of faults) {
      if (!('tool' in fault)) continue;
      if (fault.type === 'delay') requireTool(agent, fault.tool, faultText(fault));
      else requireRemote(agent, fault.tool, faultText(fault));
    }
    for (const one of occurrences) {
      if (one.at.tool !== undefined) requireRemote(agent, one.at.tool, occurrenceText(one));
    }
    this.#faults = faults;
    this.#occurrences = occurrences;
  }

  /** Returns the first fault of a type that is due, if any, and marks it as happened. */
  take<Type extends Fault['type']>(type: Type, isDue: (fault: FaultOf<Type>) => boolean): FaultOf<Type> | undefined {
    const fault = this.of(type).find((one) => !this.#happened.has(one) && isDue(one));
    if (fault !== undefined) this.happened(fault);
    return fault;
  }

  of<Type extends Fault['type']>(type: Type): FaultOf<Type>[] {
    return this.#faults.filter((fault): fault is FaultOf<Type> => fault.type === type);
  }

  /** Returns the actions that are due at that moment, and marks them as happened. */
  takeOccurrences({ step, tool, waiting }: Moment): Occurrence[] {
    const due = this.#occurrences.filter(
      (one) => !this.#happened.has(one) && one.at.step === step && one.at.tool === tool && one.at.waiting === waiting,
    );
    for (const one of due) this.happened(one);
    return due;
  }

  happened(one: Fault | Occurrence): void {
    this.#happened.add(one);
  }

  /** Throws an Error that names everything that did not happen. */
  assertHappened(): void {
    const missed = [
      ...this.#faults.filter((fault) => !this.#happened.has(fault)).map(faultText),
      ...this.#occurrences.filter((one) => !this.#happened.has(one)).map(occurrenceText),
    ];
    if (missed.length === 0) return;
    throw new Error(`The run ended before these planned faults and messages happened: ${missed.join(', ')}.`);
  }
}

function requireRemote(agent: Tested, name: string, what: string): void {
  if (toolNamesOfParts(agent).includes(name)) return;
  requireTool(agent, name, what);
  if (agent.tools.find((tool) => tool.name === name)?.policy.tier !== 'local') return;
  throw new UsageError(`${what}: "${name}" is a local tool, whose calls run inside a workflow task: a test cannot act during one`);
}

function requireTool({ kind, name: agentName, tools, mcp }: Tested, name: string, what: string): void {
  // The tools of MCP servers are known only when the run starts.
  if (mcp !== undefined || tools.some((tool) => tool.name === name)) return;
  throw new UsageError(
    `${what}: ${kind.slice('longhaul.'.length)} "${agentName}" has no tool "${name}" (it has: ${tools.map((tool) => `"${tool.name}"`).join(', ') || 'none'})`,
  );
}

/**
 * Throws an AssertionError if a planned fault or message did not happen, or the script ran out or was not used up.
 * The message contains the end of the run, which is usually the cause.
 */
export function assertPlanCarriedOut(
  { plan }: Harness,
  model: TestModel,
  { status, error }: Pick<RunResultFields, 'status' | 'error'>,
): void {
  try {
    plan.assertHappened();
    assertModelsUsedUp(model);
  } catch (problem) {
    const end = `The run ended with status "${status}"${error === null ? '' : `: ${error}`}`;
    throw new AssertionError({ message: `${errorMessage(problem)} ${end}`, stackStartFn: assertPlanCarriedOut });
  }
}

const OWN: readonly string[] = Object.values(ACTIVITIES);

/**
 * Returns interceptors that apply the test's plan to activities: messages while they run, lost completions, killed
 * workers. Applies to the calls of a burst as well.
 */
export function harnessActivities(harness: Harness): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        if (info.workflowExecution?.workflowId !== harness.runId) return next(input);
        if (info.activityType !== ACTIVITIES.runBurst)
          return planned(harness, { name: info.activityType, input: input.args[0] }, () => next(input));
        return withAroundCalls(
          (call, make) => withLostAttempts(planned(harness, call, make)),
          () => next(input),
        );
      },
    },
  });
}

/** Converts a call lost inside an activity to a failure, so that its burst makes the call again. */
async function withLostAttempts(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof CompleteAsyncError ? new TimeoutFailure('activity Heartbeat timeout', undefined, 'HEARTBEAT') : error;
  }
}

/** Makes a call, with the faults and actions planned for it. */
function planned(harness: Harness, { name, input }: InsideCall, make: () => Promise<unknown>): Promise<unknown> {
  if (name === ACTIVITIES.callModel) return modelActivity(harness, input as CallModelInput, make);
  if (name === ACTIVITIES.askStep) return callDuring(harness, harness.stepOfAsk(input as AskStepInput), make);
  return OWN.includes(name) ? make() : toolActivity(harness, name, { input: input as RunToolInput, make });
}

async function modelActivity(harness: Harness, { through }: CallModelInput, make: () => Promise<unknown>): Promise<unknown> {
  const output = (await callDuring(harness, harness.stepOf(through), make)) as CallModelOutput | undefined;
  if (output?.type === 'response') harness.answered(through);
  return output;
}

/** Makes the model call of a step, after the faults planned before it. */
async function callDuring(harness: Harness, step: number, call: () => Promise<unknown>): Promise<unknown> {
  if (harness.plan.take('kill_worker', (fault) => 'afterStep' in fault && fault.afterStep === step - 1)) return harness.worker?.kill();
  const cut = harness.plan.take('disconnect', ({ afterStep }) => afterStep === step - 1);
  if (cut !== undefined) harness.worker?.disconnect(cut.forMs);
  return harness.step.run(step, call);
}

async function toolActivity(
  harness: Harness,
  tool: string,
  { input: { step }, make }: { input: RunToolInput; make: () => Promise<unknown> },
): Promise<unknown> {
  const isHere = (fault: { tool?: string; step?: number }): boolean => fault.tool === tool && (fault.step ?? step) === step;
  const running = make();
  // Its outcome is handled after all planned messages.
  running.catch(() => undefined);
  const due = harness.plan.takeOccurrences({ step, tool });
  // The tool has started before the messages are sent.
  if (due.length > 0) await realTurn();
  for (const occurrence of due) await harness.say(occurrence);
  // A cancelled run does not wait for the call, but would count a result that arrives together with the cancellation.
  if (due.some(({ givesUp }) => givesUp === 'all')) await harness.over;
  const drops = harness.plan.take('drop_completion', isHere) !== undefined;
  const kills = harness.plan.take('kill_worker', (fault) => 'tool' in fault && isHere(fault)) !== undefined;
  if (!drops && !kills) return running;
  await running.catch(() => undefined);
  if (kills) return harness.worker?.kill();
  throw new CompleteAsyncError();
}

/** The activities whose next attempt no decision of a test waits for: the run does not need them in order to continue. */
const NOT_AWAITED: readonly string[] = [ACTIVITIES.notifyWaiting, ACTIVITIES.checkParent];

/** True for an activity that must have ended, with all of its attempts, before the test makes a decision. */
export function isAwaited(name: string): boolean {
  return !NOT_AWAITED.includes(name);
}

/** The number of refusals after which the test gives up a decision. */
const MAX_REFUSALS = 5;

/** Makes the decisions of a test, one at a time, each when nothing else of the run is running. */
export class ApprovalDriver {
  readonly #harness: Harness;
  readonly #run: RunAccess;
  readonly #decide: Decide;
  /** Keys of pending decisions that the test has made or ignored. */
  readonly #done = new Set<string>();
  readonly #refusals = new Map<string, NonNullable<Waiting['refused']>[]>();
  #decisions = 0;

  constructor(harness: Harness, run: RunAccess, decide: Decide = () => undefined) {
    this.#harness = harness;
    this.#run = run;
    this.#decide = decide;
  }

  /**
   * Acts on the first pending decision that the test has not handled. Returns false if all are handled: only time can
   * change something then.
   */
  async decideNext(pending: readonly ApprovalView[]): Promise<boolean> {
    for (const waiting of pending) {
      const due = this.#harness.plan.takeOccurrences({ step: waiting.step, waiting: waiting.toolName });
      for (const occurrence of due) await this.#harness.say(occurrence);
      if (due.length > 0) return true;
      if (!this.#done.has(waiting.key) && (await this.#decideAbout(waiting))) return true;
    }
    return false;
  }

  async #decideAbout(waiting: ApprovalView): Promise<boolean> {
    const refusals = this.#refusals.get(waiting.key) ?? [];
    const refused = refusals.at(-1);
    const about: Waiting = { ...waiting, ...defined({ refused }) };
    const decision: unknown = await this.#decide(about);
    checkDecision(about, decision);
    this.#done.add(waiting.key);
    if (decision === undefined) return false;
    try {
      await this.#run.decide(`decision ${++this.#decisions}`, waiting, decision);
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined || refusals.length === MAX_REFUSALS) throw error;
      this.#refusals.set(waiting.key, [...refusals, { code, message: errorMessage(error) }]);
      this.#done.delete(waiting.key);
    }
    return true;
  }
}

/**
 * Returns the first of these to settle. Rejects when the time limit of the test has passed, so that no test runs
 * forever.
 */
export async function withinTime<Result>(timeout: Duration, settling: readonly Promise<Result>[]): Promise<Result> {
  const ms = milliseconds(timeout, 'the test: "timeout"');
  const late = (): Error => new Error(`The run has not ended within ${ms / 1000} s: something in it hangs, or "timeout" is too short`);
  return within(ms, Promise.race(settling), late);
}
