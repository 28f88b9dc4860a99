import type { OwnLimits } from '../../domain/agent.ts';
import { type LimitChanges, limitNumbers, type LimitReached, toolLimitName, toolOfLimitName } from '../../domain/limits.ts';
import { DEFAULT_MODEL_CALLS } from '../../domain/program-document.ts';
import type { ProgramState } from '../../domain/program-run.ts';
import { limitReached, reserveCalls, usedAmounts } from '../../loop/limits.ts';
import type { RunState } from '../../loop/state/run-state.ts';
import type { Verdict } from './admission.ts';

// Programs: the amounts that running children have been given.

/** The limits of a run as its steps and its children share them. */
export class ChildBudget {
  readonly #state: RunState;
  readonly #program: ProgramState;
  /** By the address of the step. */
  readonly #given = new Map<string, Amounts>();
  #sum: Amounts = new Map();
  /** The number of lists of steps that run side by side. */
  lanes = 0;

  constructor(state: RunState, program: ProgramState) {
    this.#state = state;
    this.#program = program;
    for (const [at, { progress }] of program.steps)
      if (progress?.child !== undefined) this.#keep(at, amountsOf(progress.child.given ?? {}));
  }

  /** Runs lists of steps side by side. */
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

  /** Returns the verdict on a model call, which counts as one in flight once it may start. */
  onModelCall(now: number): Verdict<true> {
    const { asksInFlight } = this.#program;
    const verdict = this.#verdict((state) => limitReached(state, now, { final: false }));
    // Counted at once: other steps ask before this call has begun.
    if (verdict.type === 'start') this.#program.asksInFlight = asksInFlight + 1;
    return verdict;
  }

  /** Returns the verdict on a tool call. It counts once it starts, which must be at once. */
  onToolCall(name: string, now: number): Verdict<true> {
    const over = limitReached(this.#state, now, { final: true });
    if (over !== undefined) return { type: 'limit', reached: over };
    return this.#verdict((state) => reserveCalls(state, [name]).reached);
  }

  /** Returns the verdict on a step that uses no amount. */
  onOther(now: number): Verdict<true> {
    const reached = limitReached(this.#state, now, { final: true });
    return reached === undefined ? { type: 'start', granted: true } : { type: 'limit', reached };
  }

  /** Returns the verdict on the start of a child, which keeps what it is given until `release`. */
  onChild(at: string, own: OwnLimits, now: number): Verdict<LimitChanges> {
    const reached = limitReached(this.#used(), now, { final: false });
    if (reached !== undefined) return { type: 'limit', reached };
    const given = shareOf(this.#state, {
      held: sumOf([this.#sum, this.#inFlight]),
      unreported: this.#unreported,
      lanes: this.lanes - this.#given.size,
      own,
    });
    if (given === undefined) return { type: 'held' };
    this.#keep(at, given);
    return { type: 'start', granted: limitsOf(given) };
  }

  /** Takes back the amounts of a child that has ended. `isUnreported`: what it has used of them is not known. */
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

  #verdict(reachedBy: (state: RunState) => LimitReached | undefined): Verdict<true> {
    const used = this.#used();
    const reached = reachedBy(used);
    if (reached !== undefined) return { type: 'limit', reached };
    return reachedBy(withMore(used, this.#sum)) === undefined ? { type: 'start', granted: true } : { type: 'held' };
  }

  /** Returns the state of the run with the model calls in flight, and the children whose use is not known. */
  #used(): RunState {
    return withMore(this.#state, sumOf([this.#unreported, this.#inFlight]));
  }

  get #unreported(): Amounts {
    return amountsOf(this.#program.unreported ?? {});
  }

  get #inFlight(): Amounts {
    const { asksInFlight } = this.#program;
    return new Map(asksInFlight === 0 ? [] : [['steps', asksInFlight]]);
  }
}

// Programs: the part of the limits of a run that a child is given.

/** The circumstances in which a child is given its part. */
interface ShareTerms {
  /** The amounts that children which are running have been given, and that calls in flight use. They may become free again. */
  held: Amounts;
  /** The amounts of children whose use is not known. */
  unreported: Amounts;
  /** The number of lists of steps that run side by side and have not been given a part, the one of this child included. */
  lanes: number;
  /** The limits that the child has of its own. */
  own: OwnLimits;
}

/**
 * Returns the amounts that a child is given; undefined if it waits until another one ends. A child with a limit of its own gets
 * that, all of it, or what is left once nothing else holds any of it. A child without one gets an equal part of what is free, so that
 * the steps beside it have theirs. A child that asks a person at its limits gets the
 * larger of the two, so that there is something to raise them by. Must be called before a limit is reached.
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

/** Returns an equal part of a free amount: of calls, steps and tokens at least 1. */
function equalPart(name: string, free: number, lanes: number): number {
  const part = free / Math.max(1, lanes);
  return name === 'costUsd' ? part : Math.max(1, Math.floor(part));
}

/** Returns the amounts that a run shares with its children. A default limit of steps that no author has chosen is none of them. */
function sharedLimits({ limits }: RunState): Amounts {
  const shared = new Map(amountsOf(limits));
  if (limits.steps === DEFAULT_MODEL_CALLS) shared.delete('steps');
  return shared;
}

// Programs: amounts of limits, by name.

/** Amounts by the name of their limit; those of single tools by `toolCallsByName.<tool>`. The deadline is no amount: children share it. */
type Amounts = ReadonlyMap<string, number>;

const NAMES = ['steps', 'toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd'] as const;

/** Returns limits as amounts. */
function amountsOf(limits: LimitChanges): Amounts {
  const amounts = limitNumbers(limits);
  amounts.delete('deadlineMs');
  return amounts;
}

/** Returns amounts as limits. */
function limitsOf(amounts: Amounts): LimitChanges {
  const limits: LimitChanges = {};
  const byTool: [tool: string, limit: number][] = [];
  for (const name of NAMES) {
    const amount = amounts.get(name);
    if (amount !== undefined) limits[name] = amount;
  }
  for (const [name, amount] of amounts) {
    const tool = toolOfLimitName(name);
    if (tool !== undefined) byTool.push([tool, amount]);
  }
  return byTool.length === 0 ? limits : { ...limits, toolCallsByName: Object.fromEntries(byTool) };
}

/** Returns the sum of amounts. */
function sumOf(all: Iterable<Amounts>): Amounts {
  const sum = new Map<string, number>();
  for (const amounts of all) for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + amount);
  return sum;
}

/** Returns the amounts that a run has used of its limits. */
function usedOf(state: RunState): Amounts {
  const amounts = new Map(Object.entries(usedAmounts(state)));
  for (const [tool, calls] of state.toolCallsStarted) amounts.set(toolLimitName(tool), calls);
  return amounts;
}

/** The name under which calls count that are not those of a single tool. No tool has it. */
const OTHER_CALLS = '';

/** Returns the state of a run as if it had used more. */
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
