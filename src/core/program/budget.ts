import type { OwnLimits } from '../domain/agent.ts';
import { type Decision, type PendingApproval, RAISE_LIMITS } from '../domain/approvals.ts';
import {
  type LimitChanges,
  limitNumbers,
  type LimitReached,
  raised,
  type RunLimits,
  toolLimitName,
  toolOfLimitName,
} from '../domain/limits.ts';
import { DEFAULT_MODEL_CALLS } from '../domain/program-document.ts';
import type { ProgramState } from '../domain/program-run.ts';
import { limitApproval, requestDecision } from '../kernel/approvals.ts';
import { limitReached, raisable, reserveCalls, usedAmounts } from '../kernel/limits.ts';
import type { RunPorts } from '../kernel/ports.ts';
import type { RunState } from '../kernel/run-state.ts';

// Programs: the amounts given to running children.

/** The limits of a run, shared by its steps and its children. */
export class ChildBudget {
  readonly #state: RunState;
  readonly #program: ProgramState;
  /** By step address. */
  readonly #given = new Map<string, Amounts>();
  #sum: Amounts = new Map();
  /** The tools of calls that may start, and have not started yet. */
  readonly #reserved: string[] = [];
  /** The number of lists of steps running in parallel. */
  lanes = 0;

  constructor(state: RunState, program: ProgramState) {
    this.#state = state;
    this.#program = program;
    for (const [at, { progress }] of program.steps)
      if (progress?.child !== undefined) this.#keep(at, amountsOf(progress.child.given ?? {}));
  }

  /** Runs lists of steps in parallel. */
  async sideBySide<End>(lists: readonly (() => Promise<End>)[]): Promise<End[]> {
    let running = lists.length;
    this.lanes += Math.max(0, running - 1);
    return Promise.all(
      lists.map(async (list) => {
        const end = await list();
        running -= 1;
        if (running > 0) this.lanes -= 1;
        return end;
      }),
    );
  }

  /** Returns the verdict on a model call. Once it may start, it counts as in flight. */
  onModelCall(now: number): AdmissionVerdict<true> {
    const { asksInFlight } = this.#program;
    const verdict = this.#verdict((state) => limitReached(state, now, { final: false }));
    // Counted immediately: other steps ask before this call has begun.
    if (verdict.type === 'start') this.#program.asksInFlight = asksInFlight + 1;
    return verdict;
  }

  /** Returns the verdict on a tool call. Once it may start, its place is reserved until `unreserve`: it counts when it starts. */
  onToolCall(name: string, now: number): AdmissionVerdict<true> {
    const verdict = this.roomForCall(name, now);
    // Reserved immediately: other steps ask before this call has started.
    if (verdict.type === 'start') this.#reserved.push(name);
    return verdict;
  }

  /** Returns the same verdict, and reserves nothing. */
  roomForCall(name: string, now: number): AdmissionVerdict<true> {
    const over = limitReached(this.#state, now, { final: true });
    if (over !== undefined) return { type: 'limit', reached: over };
    return this.#verdict((state) => reserveCalls(state, [name]).reached);
  }

  /** Reclaims the place of a tool call, which starts now or waits again. */
  unreserve(name: string): void {
    const index = this.#reserved.indexOf(name);
    if (index >= 0) this.#reserved.splice(index, 1);
  }

  /** Returns the verdict on a step that uses no limited amount. */
  onOther(now: number): AdmissionVerdict<true> {
    const reached = limitReached(this.#state, now, { final: true });
    return reached === undefined ? { type: 'start', granted: true } : { type: 'limit', reached };
  }

  /** Returns the verdict on the start of a child, which keeps its share until `release`. */
  onChild(at: string, own: OwnLimits, now: number): AdmissionVerdict<LimitChanges> {
    const reached = limitReached(this.#used(), now, { final: false });
    if (reached !== undefined) return { type: 'limit', reached };
    const given = shareOf(this.#state, {
      held: sumOf([this.#held, this.#inFlight]),
      unreported: this.#unreported,
      lanes: this.lanes - this.#given.size,
      own,
    });
    if (given === undefined) return { type: 'held' };
    this.#keep(at, given);
    return { type: 'start', granted: limitsOf(given) };
  }

  /** Reclaims the amounts of an ended child. `isUnreported`: its usage is unknown. */
  release(at: string, { isUnreported }: { isUnreported: boolean }): void {
    const given = this.#given.get(at);
    if (given === undefined) return;
    this.#given.delete(at);
    this.#sum = sumOf(this.#given.values());
    if (isUnreported && given.size > 0) this.#program.unreported = limitsOf(sumOf([this.#unreported, given]));
  }

  #keep(at: string, given: Amounts): void {
    this.#given.set(at, given);
    this.#sum = sumOf([this.#sum, given]);
  }

  #verdict(reachedBy: (state: RunState) => LimitReached | undefined): AdmissionVerdict<true> {
    const used = this.#used();
    const reached = reachedBy(used);
    if (reached !== undefined) return { type: 'limit', reached };
    return reachedBy(withMore(used, this.#held)) === undefined ? { type: 'start', granted: true } : { type: 'held' };
  }

  /** Returns the state of the run including model calls in flight and children with unknown usage. */
  #used(): RunState {
    return withMore(this.#state, sumOf([this.#unreported, this.#inFlight]));
  }

  /** The amounts of running children and reserved calls. They may become available again. */
  get #held(): Amounts {
    const calls = this.#reserved.map((name) => amountsOf({ toolCalls: 1, toolCallsByName: { [name]: 1 } }));
    return calls.length === 0 ? this.#sum : sumOf([this.#sum, ...calls]);
  }

  get #unreported(): Amounts {
    return amountsOf(this.#program.unreported ?? {});
  }

  get #inFlight(): Amounts {
    const { asksInFlight } = this.#program;
    return new Map(asksInFlight === 0 ? [] : [['steps', asksInFlight]]);
  }
}

// Programs: a child's share of the run's limits.

/** The conditions under which a child gets its share. */
interface ShareTerms {
  /** The amounts of running children, of reserved calls and of calls in flight. They may become available again. */
  held: Amounts;
  /** The amounts of children with unknown usage. */
  unreported: Amounts;
  /** The number of parallel lists of steps without a share yet, including this child's. */
  lanes: number;
  /** The child's own limits. */
  own: OwnLimits;
}

/**
 * Returns the amounts for a child, or undefined if it must wait until another one ends. A child with its own limit gets all of it, or the
 * remainder once nothing else holds any. A child without one gets an equal share of the free amount, so that parallel steps get theirs. A
 * child that asks a person at its limits gets the larger of the two, so that its limits can be raised. Must be called before a limit is
 * reached.
 */
function shareOf(state: RunState, { held, unreported, lanes, own }: ShareTerms): Amounts | undefined {
  const spent = usedOf(state);
  const wanted = amountsOf(own);
  const given = new Map<string, number>();
  for (const [name, limit] of sharedLimits(state)) {
    const heldNow = held.get(name) ?? 0;
    const free = limit - (spent.get(name) ?? 0) - (unreported.get(name) ?? 0) - heldNow;
    const most = wanted.get(name) ?? (toolOfLimitName(name) === undefined ? undefined : wanted.get('toolCalls'));
    const equal = equalPart(name, free, lanes);
    const part = most ?? equal;
    if (most === 0) given.set(name, 0);
    else if (part > 0 && free >= part) given.set(name, own.onLimit === 'ask' ? Math.max(part, equal) : part);
    else if (heldNow > 0) return undefined;
    else given.set(name, Math.max(0, free));
  }
  return given;
}

/** Returns an equal share of a free amount: at least 1 for calls, steps and tokens. */
function equalPart(name: string, free: number, lanes: number): number {
  const part = free / Math.max(1, lanes);
  return name === 'costUsd' ? part : Math.max(1, Math.floor(part));
}

/** Returns the amounts that a run shares with its children, except a default limit of steps that no author has chosen. */
function sharedLimits({ limits }: RunState): Amounts {
  const shared = new Map(amountsOf(limits));
  if (limits.steps === DEFAULT_MODEL_CALLS) shared.delete('steps');
  return shared;
}

// Programs: amounts of limits, by name.

/** Amounts by limit name; the limits of single tools as `toolCallsByName.<tool>`. The deadline is not an amount: children share it. */
type Amounts = ReadonlyMap<string, number>;

const AMOUNT_NAMES = ['steps', 'toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd'] as const;

function amountsOf(limits: LimitChanges): Amounts {
  const amounts = limitNumbers(limits);
  amounts.delete('deadlineMs');
  return amounts;
}

function limitsOf(amounts: Amounts): LimitChanges {
  const limits: LimitChanges = {};
  const byTool: [tool: string, limit: number][] = [];
  for (const name of AMOUNT_NAMES) {
    const amount = amounts.get(name);
    if (amount !== undefined) limits[name] = amount;
  }
  for (const [name, amount] of amounts) {
    const tool = toolOfLimitName(name);
    if (tool !== undefined) byTool.push([tool, amount]);
  }
  return byTool.length === 0 ? limits : { ...limits, toolCallsByName: Object.fromEntries(byTool) };
}

function sumOf(all: Iterable<Amounts>): Amounts {
  const sum = new Map<string, number>();
  for (const amounts of all) for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + amount);
  return sum;
}

/** Returns the amounts of its limits that a run has used. */
function usedOf(state: RunState): Amounts {
  const { toolCallsByName, ...used } = usedAmounts(state);
  const amounts = new Map(Object.entries(used));
  for (const [tool, calls] of toolCallsByName) amounts.set(toolLimitName(tool), calls);
  return amounts;
}

/** The name under which calls of tools without a limit count. No tool has it. */
const OTHER_CALLS = '';

/** Returns a run's state with additional usage. */
function withMore(state: RunState, more: Amounts): RunState {
  if (more.size === 0) return state;
  const { context, usage } = state;
  const of = (name: string): number => more.get(name) ?? 0;
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0, costUsd = 0 } = usage.estimated ?? {};
  const started = new Map(state.toolCallsStarted);
  let others = of('toolCalls');
  for (const [name, calls] of more) {
    const tool = toolOfLimitName(name);
    if (tool === undefined) continue;
    started.set(tool, (started.get(tool) ?? 0) + calls);
    others -= calls;
  }
  if (others > 0) started.set(OTHER_CALLS, others);
  return {
    ...state,
    context: { ...context, currentStep: context.currentStep + of('steps') },
    usage: {
      ...usage,
      estimated: {
        promptTokens: promptTokens + of('inputTokens'),
        completionTokens: completionTokens + of('outputTokens'),
        totalTokens: totalTokens + of('totalTokens'),
        costUsd: costUsd + of('costUsd'),
      },
    },
    toolCallsStarted: started,
  };
}

// Programs: steps that wait for room within the limits.

/** The verdict on a step that wants to start. `held`: children or reserved calls hold the amount it needs, and may return some. */
export type AdmissionVerdict<Granted> = { type: 'start'; granted: Granted } | { type: 'held' } | { type: 'limit'; reached: LimitReached };

/**
 * The steps that wait for room within the limits: until a child or a reserved call returns what it has not used, or a person has raised
 * the limit. However many steps wait at a limit, one approval is requested.
 */
export class Admission {
  readonly #state: RunState;
  readonly #ports: RunPorts;
  /** Increases when a waiting step may find room. */
  #turn = 0;
  /** Increases when the steps waiting at a limit have changed. */
  changes = 0;
  /** The limit at which each waiting step waits; undefined until the step has checked again. */
  readonly #atLimit = new Map<object, LimitReached | undefined>();
  /** The steps that wait to start a child, in order. */
  readonly #children: object[] = [];
  /** A person has refused to raise a limit. */
  #isRefused = false;
  /** The limits last seen by the waiting steps. */
  #limits: RunLimits;

  constructor(state: RunState, ports: RunPorts) {
    this.#state = state;
    this.#ports = ports;
    this.#limits = state.limits;
  }

  /** The limit of the first waiting step. */
  get reached(): LimitReached | undefined {
    return [...this.#atLimit.values()].find((one) => one !== undefined);
  }

  /** True if a person is asked at limits and has not refused. */
  get #isAsked(): boolean {
    return this.#state.limits.onLimit === 'ask' && !this.#isRefused;
  }

  /** Makes the waiting steps check again: a child or a call has ended. */
  lookAgain(): void {
    this.#turn += 1;
  }

  /**
   * Waits until `verdict` lets the step start. Children start in order of arrival, so that a small one does not keep a large one waiting.
   * Returns the limit if no person is asked about it, and undefined once the step is no longer `ready`.
   */
  async wait<Granted>(
    verdict: () => AdmissionVerdict<Granted>,
    { isChild, isOver, ready }: { isChild: boolean; isOver: () => boolean; ready: () => Promise<boolean> },
  ): Promise<Exclude<AdmissionVerdict<Granted>, { type: 'held' }> | undefined> {
    const step = {};
    let isLeftWaiting = false;
    if (isChild) this.#children.push(step);
    try {
      for (;;) {
        isLeftWaiting = !(await ready());
        if (isLeftWaiting) return undefined;
        const turn = this.#turn;
        const found: AdmissionVerdict<Granted> = isChild && this.#children[0] !== step ? { type: 'held' } : verdict();
        if (found.type === 'start' && isChild && this.#atLimit.size === 0) this.#dropRequest();
        if (found.type === 'start') return found;
        const raise = found.type === 'limit' && this.#isAsked ? raisable(this.#state, found.reached) : undefined;
        if (found.type === 'limit' && raise === undefined) return found;
        this.#note(step, raise);
        await this.#ports.until(() => this.#turn > turn || isOver());
      }
    } finally {
      this.#leave(step, isLeftWaiting);
    }
  }

  #note(step: object, reached: LimitReached | undefined): void {
    if (reached === undefined) this.#atLimit.delete(step);
    else this.#atLimit.set(step, reached);
    this.changes += 1;
  }

  /** Removes a step. A request outlives a step that stops waiting, because a decision about it may be on its way. */
  #leave(step: object, isLeftWaiting: boolean): void {
    const place = this.#children.indexOf(step);
    if (place >= 0) this.#children.splice(place, 1);
    const wasAtLimit = this.#atLimit.delete(step);
    if (wasAtLimit && !isLeftWaiting && this.#atLimit.size === 0) this.#dropRequest();
    if (wasAtLimit) this.changes += 1;
    if (place >= 0 && this.#children.length > 0) this.#turn += 1;
  }

  /** Applies a decision about a limit. Returns the limit that ends the run, if it was rejected while a step waits there. */
  decide(decision: Decision): LimitReached | undefined {
    if (decision.type === 'reject') {
      this.#isRefused = true;
      return this.reached;
    }
    this.#state.limits = raised(this.#state.limits, decision.arguments as LimitChanges);
    return undefined;
  }

  /** Requests an approval if steps wait at a limit. Makes them check again once the limits have changed. */
  settle(): void {
    const { limits, approvals } = this.#state;
    if (limits !== this.#limits) {
      this.#limits = limits;
      this.#isRefused = false;
      if (this.#atLimit.size === 0) this.#dropRequest();
      for (const step of this.#atLimit.keys()) this.#atLimit.set(step, undefined);
      this.#turn += 1;
      return;
    }
    const limitsReached = [...this.#atLimit.values()];
    const [first] = limitsReached;
    // A step that has not checked again may find that the limit no longer applies.
    if (first === undefined || limitsReached.includes(undefined)) return;
    const requested = approvals.pending.find(isLimitApproval);
    if (requested !== undefined && limitsReached.some((one) => raisesLimit(requested, one))) return;
    this.#dropRequest();
    requestDecision(this.#state, this.#ports, limitApproval(this.#state, this.#ports, first));
  }

  #dropRequest(): void {
    const { approvals } = this.#state;
    approvals.pending = approvals.pending.filter((one) => !isLimitApproval(one));
  }
}

/** True for an approval that raises the limit. The used amount may have grown since it was requested. */
function raisesLimit({ proposal = {} }: PendingApproval, reached: LimitReached | undefined): boolean {
  return Object.keys(reached?.proposal ?? {}).some((name) => Object.hasOwn(proposal, name));
}

function isLimitApproval({ toolName }: { toolName: string }): boolean {
  return toolName === RAISE_LIMITS;
}
