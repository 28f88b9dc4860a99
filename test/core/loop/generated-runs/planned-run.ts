import * as fc from 'fast-check';
import type { AgentSnapshot, WindowPolicy } from '../../../../src/core/domain/agent.ts';
import type { DeadlineAction } from '../../../../src/core/domain/approvals.ts';
import type { LimitChanges } from '../../../../src/core/domain/limits.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

/** The decision on a pending call. `deadline`: there is no decision. */
export type PlannedDecision =
  | 'approve'
  | 'edit'
  | 'reject'
  | 'respond'
  | 'remember_tool'
  | 'remember_arguments'
  | 'remember_no'
  | 'deadline';

/** The decision on a limit about which the run asks. */
export type PlannedAnswer = 'approve' | 'raise' | 'reject' | 'message' | 'pause';

/** The behavior of a tool for one call of a generated run, and the requests during it. */
export interface PlannedCall {
  name: string;
  behavior: 'now' | 'later' | 'error' | 'cancelled';
  /** Characters of its arguments and of its result. */
  asks: number;
  gives: number;
  setsState: boolean;
  problem: boolean;
  messages: number;
  pauses: boolean;
  /** The decision, if the call needs one. */
  decision: PlannedDecision;
}

/** One model call of a generated run. */
export interface PlannedTurn {
  type: 'response' | 'too_long' | 'failed' | 'cancelled' | 'interrupted';
  text: string | null;
  calls: PlannedCall[];
  usage: [prompt: number, completion: number] | null;
  /** Tokens of failed attempts before: reported, and estimated. */
  failedAttempts: [reported: number, estimated: number] | null;
  providerItems: boolean;
  /** The requests that come while the model answers. */
  messages: number;
  pauses: boolean;
}

/** The behavior of every actor of a generated run, in whichever execution it happens. */
export interface PlannedRun {
  turns: PlannedTurn[];
  summaries: ('short' | 'long' | 'failed')[];
  window: WindowPolicy;
  steps: number;
  finalAttempt: boolean;
  /** Limits of the run other than its steps. */
  limits: LimitChanges;
  asksAtLimit: boolean;
  /** The answers about each limit that the run asks about; no to all that follow. */
  answers: PlannedAnswer[];
  onDeadline: DeadlineAction;
  /** If true, messages steer the run. */
  steers: boolean;
  parallel: boolean;
  structured: boolean;
  cancelAt: number | null;
}

const rarely = fc.integer({ min: 0, max: 9 }).map((one) => one === 0);

/** One of `usual`, except in one in this many cases. */
function usually<T, U>(usual: readonly T[], other: U, cases: number): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: cases - 1, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: fc.constant(other) });
}

const messages = fc.constantFrom(0, 0, 0, 0, 1, 2);
const chars = fc.constantFrom(1, 10, 10, 100, 100, 400, 1_500);

const plannedCall: fc.Arbitrary<PlannedCall> = fc.record({
  name: fc.constantFrom('known', 'known', 'known', 'known', 'asked', 'asked', 'lonely', 'nope', '__proto__', 'final_answer'),
  behavior: usually(['now', 'later', 'error'] as const, 'cancelled' as const, 200),
  asks: chars,
  gives: chars,
  setsState: fc.boolean(),
  problem: rarely,
  messages,
  pauses: rarely,
  decision: fc.constantFrom(
    'approve',
    'approve',
    'edit',
    'reject',
    'respond',
    'remember_tool',
    'remember_arguments',
    'remember_no',
    'deadline',
  ),
});

const none: fc.Arbitrary<PlannedCall[]> = fc.constant([]);
const plannedCalls = fc.oneof(
  { weight: 12, arbitrary: fc.array(plannedCall, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: none },
);

const plannedTurn: fc.Arbitrary<PlannedTurn> = fc.record({
  type: fc.oneof(
    { weight: 60, arbitrary: fc.constant('response' as const) },
    { weight: 2, arbitrary: fc.constantFrom('too_long' as const, 'interrupted' as const) },
    { weight: 1, arbitrary: fc.constantFrom('failed' as const, 'cancelled' as const) },
  ),
  text: fc.option(
    chars.map((length) => 't'.repeat(length)),
    { nil: null },
  ),
  calls: plannedCalls,
  usage: fc.option(fc.tuple(fc.nat(1_000), fc.nat(500)), { nil: null }),
  failedAttempts: fc.option(fc.tuple(fc.nat(300), fc.nat(300)), { nil: null, freq: 2 }),
  providerItems: rarely,
  messages,
  pauses: rarely,
});

/** A limit that some runs reach. */
export const plannedLimit: fc.Arbitrary<LimitChanges> = fc.constantFrom<LimitChanges[]>(
  { toolCalls: 0 },
  { toolCalls: 5 },
  { toolCalls: 12 },
  { toolCallsByName: { known: 3 } },
  { toolCallsByName: { asked: 1, lonely: 1 } },
  { inputTokens: 3_000 },
  { outputTokens: 1_000 },
  { totalTokens: 5_000 },
  { costUsd: 6_000 },
  { deadlineMs: 50_000 },
);

/** Random runs, with windows so small that most of them are compacted, and limits that some of them reach. */
export const plannedRun: fc.Arbitrary<PlannedRun> = fc.record({
  turns: fc.array(plannedTurn, { minLength: 1, maxLength: 12 }),
  summaries: fc.array(usually(['short', 'short', 'long'] as const, 'failed' as const, 30), {
    minLength: 1,
    maxLength: 5,
  }),
  window: fc.record({
    maxTokens: fc.constantFrom(1_200, 3_000, 100_000),
    maxBytes: fc.constantFrom(3_000, 6_000, 12_000, 1_000_000),
    keepResults: fc.nat(4),
    summarize: usually([true], false, 4),
  }),
  steps: fc.constantFrom(0, 1, 3, 8, 20, 30),
  finalAttempt: fc.boolean(),
  limits: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: plannedLimit }),
  asksAtLimit: fc.boolean(),
  answers: fc.array(fc.constantFrom('approve', 'approve', 'raise', 'reject', 'message', 'pause'), { maxLength: 5 }),
  onDeadline: fc.constantFrom('reject', 'approve'),
  // Which calls such a message gives up depends on which have started, and so on where the run continues as new.
  steers: fc.constant(false),
  parallel: fc.boolean(),
  structured: fc.boolean(),
  cancelAt: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(15) }),
});

/** The agent of a generated run. */
export function plannedAgent(plan: PlannedRun): AgentSnapshot {
  const { steps, finalAttempt, limits, asksAtLimit, onDeadline, parallel, structured, window } = plan;
  const schema = { type: 'object' };
  return testSnapshot({
    tools: [
      testTool('known', { maxAttempts: 3 }),
      testTool('lonely', { maxAttempts: 3, parallel: false }),
      testTool('asked', { maxAttempts: 3, approval: { when: 'predicate', onDeadline } }),
    ],
    parallel,
    window,
    limits: {
      steps,
      finalAttempt,
      ...limits,
      ...(asksAtLimit ? { onLimit: 'ask' as const } : {}),
    },
    prices: { 'scripted/model': { input: 1_000_000, output: 2_000_000 } },
    ...(structured ? { output: { mode: 'final_answer' as const, schema, providerSchema: schema, strict: true, maxRetries: 2 } } : {}),
  });
}
