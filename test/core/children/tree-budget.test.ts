import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AllPorts } from '../../../src/core/capabilities.ts';
import { setParent } from '../../../src/core/capabilities/children/children.ts';
import type { ToolSnapshot } from '../../../src/core/domain/agent.ts';
import type { ChildCall, ChildOutcome } from '../../../src/core/domain/children.ts';
import { type LimitChanges, narrowLimits, type RunLimits } from '../../../src/core/domain/limits.ts';
import { addUsageOfEvent, type Event } from '../../../src/core/domain/record.ts';
import type { RunResultFields } from '../../../src/core/domain/result.ts';
import type { ParentInput } from '../../../src/core/domain/run-input.ts';
import { addRunUsage, noUsage, type UsageStats } from '../../../src/core/domain/usage.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import type { ModelCallOutcome } from '../../../src/core/kernel/ports.ts';
import { BEGINNING, runLoop } from '../../../src/core/kernel/run-loop.ts';
import { newRunState, type RunState } from '../../../src/core/kernel/run-state.ts';
import { call, called, FakeScheduler, quietPorts, returned, said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { carriedOver } from '../loop/generated-runs/carried-over.ts';

/** The most that one model call of these trees costs. */
const LARGEST_CALL = { promptTokens: 30, completionTokens: 10, totalTokens: 40, costUsd: 0.4 };

/** A tree to run. Its agents act as the numbers of the seed say. */
interface TreePlan {
  seed: number;
  limits: LimitChanges;
  /** The limits of one of the two agents that are called; the other one has none. */
  tight: LimitChanges;
  tree: { depth: number; alive: number; perTree: number };
}

/** A run of a tree. */
interface TreeMember {
  runId: string;
  depth: number;
  limits: RunLimits;
  events: Event[];
  toolCalls: number;
  /** The children that were alive together each time that one started. */
  together: TreeMember[][];
  /** The parent has counted its usage. */
  isCounted?: true;
  result?: RunResultFields;
}

/** A tree of runs of the loop, on fake ports that share one schedule. */
class RandomTree {
  readonly members = new Map<string, TreeMember>();
  executions = 0;
  readonly #plan: TreePlan;
  readonly #scheduler = new FakeScheduler();
  readonly #random: () => number;
  #ids = 0;

  constructor(plan: TreePlan) {
    this.#plan = plan;
    this.#random = numbers(plan.seed);
  }

  /** Does the tree to its end. */
  async run(): Promise<RunResultFields> {
    return this.#start('root', { steps: 6, finalAttempt: false, ...this.#plan.limits });
  }

  /** Does the tree as that of a program's step, which has a share of the program's limits. */
  async runBelow(left: LimitChanges): Promise<RunResultFields> {
    const limits: RunLimits = { steps: 6, finalAttempt: false, ...this.#plan.limits };
    return this.#start('root', narrowLimits(limits, left), { runId: 'program', depth: 0, checkMs: 1_000, left });
  }

  async #start(runId: string, limits: RunLimits, parent?: ParentInput): Promise<RunResultFields> {
    const member = this.#enter(runId, limits, parent);
    const clock = { now: () => this.#scheduler.now, uuid: () => `event-${(this.#ids += 1)}` };
    const snapshot = testSnapshot({ limits, tools: this.#tools(), children: this.#plan.tree });
    let state: RunState = newRunState({ runId, snapshot, input: 'Go', startedAt: clock.now() }, clock);
    if (parent !== undefined) setParent(state, parent);
    let inbox = new Inbox();
    let position = BEGINNING;
    for (let executions = 1; ; executions += 1) {
      this.executions += 1;
      const end = await runLoop(state, { ...clock, ...this.#ports(member, inbox) }, position);
      member.events.push(...state.context.events);
      if (end.type === 'finished') {
        member.result = end.result;
        this.#scheduler.notify();
        return end.result;
      }
      ({ position, state, inbox } = carriedOver({ state, position: end.position, inbox, executions }));
    }
  }

  /** Records a run that now has its share of its parent's limits. */
  #enter(runId: string, limits: RunLimits, parent?: ParentInput): TreeMember {
    const entered = this.members.get(runId);
    if (entered !== undefined) return entered;
    const member: TreeMember = { runId, depth: parent?.depth ?? 0, limits, events: [], toolCalls: 0, together: [] };
    const above = parent === undefined ? undefined : this.members.get(parent.runId);
    above?.together.push([...(above.together.at(-1) ?? []).filter(({ isCounted }) => !isCounted), member]);
    this.members.set(runId, member);
    return member;
  }

  #tools(): ToolSnapshot[] {
    const agent = { name: 'below', share: [], request: true as const };
    return [testTool('work'), testTool('free', { agent }), testTool('tight', { agent: { ...agent, limits: this.#plan.tight } })];
  }

  #ports(member: TreeMember, inbox: Inbox): Omit<AllPorts, 'now' | 'uuid'> {
    return {
      ...quietPorts(),
      inbox,
      until: (isMet, deadline) => this.#scheduler.until(isMet, deadline),
      callModel: () => this.#scheduler.during(this.#after(() => this.#answer())),
      runTool: () => {
        member.toolCalls += 1;
        return this.#scheduler.during(this.#after(() => returned('done')));
      },
      runChild: (one) => this.#runChild(one),
      childRunId: (prefix) => `${prefix}${(this.#ids += 1)}`,
      continueDue: () => this.#upTo(8) === 0,
    };
  }

  async #runChild({ runId, start, isLeft }: ChildCall): Promise<ChildOutcome> {
    if (start?.kind === 'agent') {
      const { parent, limits } = start.input;
      const own = narrowLimits<RunLimits>({ steps: 6, ...limits, finalAttempt: false }, parent?.left);
      this.#enter(runId, own, parent);
      void this.#scheduler.during(this.#after(() => undefined)).then(() => this.#start(runId, own, parent));
    }
    await this.#scheduler.until(() => this.members.get(runId)?.result !== undefined || isLeft());
    const member = this.members.get(runId);
    // Before the run that waits has taken the end in, nothing else must happen.
    const { result } = member ?? {};
    const outcome: ChildOutcome = result === undefined ? { type: 'left', seenAt: this.#scheduler.now } : { type: 'ended', result };
    await this.#scheduler.during(outcome);
    if (member !== undefined && result !== undefined) setImmediate(() => (member.isCounted = true));
    return outcome;
  }

  /** An answer, or up to four calls. */
  #answer(): ModelCallOutcome {
    const usage = this.#usage();
    const names = Array.from({ length: this.#upTo(5) }, () => ['work', 'free', 'tight'][this.#upTo(3)] ?? 'work');
    if (names.length === 0) return said('Done', { usage });
    const calls = names.map((name) => call(`call-${(this.#ids += 1)}`, name, { request: 'Go' }));
    const outcome = called(...calls);
    return outcome.type === 'response' ? { ...outcome, response: { ...outcome.response, usage } } : outcome;
  }

  #usage(): UsageStats {
    const promptTokens = 1 + this.#upTo(LARGEST_CALL.promptTokens);
    const completionTokens = this.#upTo(LARGEST_CALL.completionTokens + 1);
    const totalTokens = promptTokens + completionTokens;
    return { promptTokens, completionTokens, totalTokens, costUsd: totalTokens / 100 };
  }

  /** Acts after other parts of the tree have. */
  async #after<Result>(act: () => Result): Promise<Result> {
    for (let turns = this.#upTo(4); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
    return act();
  }

  /** A whole number from 0, less than `most`. */
  #upTo(most: number): number {
    return Math.floor(this.#random() * most);
  }
}

/**
 * Returns by how many model calls a run can exceed its share: one of its own, or the sum for its children that run at the same time. A
 * child starts only if something is left, so children that ended earlier do not add to it.
 */
function callsOver({ together }: TreeMember): number {
  return Math.max(1, ...together.map((children) => children.reduce((sum, child) => sum + callsOver(child), 0)));
}

/** Returns a source of numbers from 0 to 1, the same for the same seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const anyAmounts = fc.record({
  totalTokens: fc.integer({ min: 1, max: 4_000 }),
  inputTokens: fc.integer({ min: 1, max: 3_000 }),
  outputTokens: fc.integer({ min: 1, max: 1_000 }),
  costUsd: fc.integer({ min: 1, max: 4_000 }).map((cents) => cents / 100),
  toolCalls: fc.integer({ min: 0, max: 60 }),
});

/** Up to two limits. */
const amounts = fc
  .tuple(anyAmounts, fc.subarray(['totalTokens', 'inputTokens', 'outputTokens', 'costUsd', 'toolCalls'] as const, { maxLength: 2 }))
  .map(([all, names]): LimitChanges => Object.fromEntries(names.map((name) => [name, all[name]])));

const anyTree: fc.Arbitrary<TreePlan> = fc.record({
  seed: fc.integer(),
  limits: amounts,
  tight: amounts,
  tree: fc.record({
    depth: fc.integer({ min: 1, max: 3 }),
    alive: fc.integer({ min: 1, max: 4 }),
    perTree: fc.integer({ min: 1, max: 40 }),
  }),
});

/** The sums of floating-point costs differ in the last digits. */
const ROUNDING = 1e-9;

test('no tree exceeds a limit by more than one model call of each run that is alive together with others, and its tally is the sum over its events', async () => {
  let runs = 0;
  let executions = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(anyTree, async (plan) => {
      const tree = new RandomTree(plan);
      const result = await tree.run();
      const members = [...tree.members.values()];
      const spent = members.flatMap(({ events }) => events).reduce(addUsageOfEvent, noUsage());
      const tally = result.descendants === undefined ? result.usage : addRunUsage(result.usage, result.descendants.usage);
      expect({ ...tally, costUsd: 0 }).toEqual({ ...spent, costUsd: 0 });
      expect(tally.costUsd).toBeCloseTo(spent.costUsd ?? 0, 6);
      expect(result.descendants?.runs ?? 0).toBe(members.length - 1);

      const [root] = members;
      const over = root === undefined ? 0 : callsOver(root);
      const { totalTokens = Infinity, inputTokens = Infinity, outputTokens = Infinity, costUsd = Infinity } = plan.limits;
      expect(spent.totalTokens).toBeLessThan(totalTokens + over * LARGEST_CALL.totalTokens);
      expect(spent.promptTokens).toBeLessThan(inputTokens + over * LARGEST_CALL.promptTokens);
      expect(spent.completionTokens).toBeLessThan(outputTokens + over * LARGEST_CALL.completionTokens);
      expect(spent.costUsd).toBeLessThan(costUsd + over * LARGEST_CALL.costUsd + ROUNDING);
      expect(members.reduce((sum, { toolCalls }) => sum + toolCalls, members.length - 1)).toBeLessThanOrEqual(
        plan.limits.toolCalls ?? Infinity,
      );
      expect(members.length).toBeLessThanOrEqual(Math.max(1, plan.tree.perTree));
      expect(Math.max(...members.map(({ depth }) => depth))).toBeLessThanOrEqual(plan.tree.depth);
      // A limit of the root also limits each descendant, and never becomes zero where that would leave the descendant nothing to do.
      const limited = Object.keys(plan.limits) as (keyof typeof plan.limits)[];
      const least = members.flatMap(({ limits }) => limited.map((name) => ({ name, least: limits[name] })));
      expect(least.filter((one) => !(Number(one.least) > 0) && !(one.name === 'toolCalls' && one.least === 0))).toEqual([]);
      runs += members.length;
      executions += tree.executions;
      refused += members.some(({ events }) => JSON.stringify(events).includes('could not start')) ? 1 : 0;
    }),
    { numRuns: 1_000 },
  );
  // The trees were trees.
  expect(runs).toBeGreaterThan(3_000);
  expect(executions).toBeGreaterThan(runs);
  expect(refused).toBeGreaterThan(100);
}, 120_000);

test('no tree below a program exceeds its share of a limit by name, and its tally of these calls is the sum over its runs', async () => {
  let calls = 0;
  let used = 0;
  await fc.assert(
    fc.asyncProperty(anyTree, fc.integer({ min: 0, max: 12 }), async (plan, most) => {
      const tree = new RandomTree({ ...plan, tight: { ...plan.tight, toolCallsByName: { work: 1 } } });
      const { toolCallsByName, descendants } = await tree.runBelow({ toolCallsByName: { work: most } });
      const made = [...tree.members.values()].reduce((sum, { toolCalls }) => sum + toolCalls, 0);
      expect(made).toBeLessThanOrEqual(most);
      expect((toolCallsByName['work'] ?? 0) + (descendants?.toolCallsByName?.['work'] ?? 0)).toBe(made);
      calls += made;
      used += made === most ? 1 : 0;
    }),
    { numRuns: 500 },
  );
  expect(calls).toBeGreaterThan(500);
  expect(used).toBeGreaterThan(50);
}, 60_000);
