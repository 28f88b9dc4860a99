import * as fc from 'fast-check';
import type { WindowPolicy } from '../../../../src/core/domain/agent.ts';
import type { SessionLimits } from '../../../../src/core/domain/limits.ts';

/** A request of a caller to a generated session. `again`: the newest message is sent again. */
export type PlannedRequest = 'send' | 'again' | 'steer' | 'interrupt' | 'raise' | 'refresh' | 'close';

/** One model call of a generated session, the requests while it answers, and those while each of its tools runs or waits. */
export interface PlannedAnswer {
  type: 'text' | 'tools' | 'failed';
  /** The length of its text. */
  chars: number;
  /** Calls of tools: one that runs at once, and one that waits for a decision. */
  calls: ('known' | 'asked')[];
  usage: [prompt: number, completion: number] | null;
  during: PlannedRequest[];
  duringCalls: PlannedRequest[];
  /** The requests while a call waits for a decision. The last of them is followed by the decision. */
  whileWaiting: PlannedRequest[];
  /** The part of an answer that is kept if the turn is interrupted. */
  hasPartial: boolean;
  /** The answer arrives in the same task as the interrupt of its turn. */
  isInTime: boolean;
}

/** The behavior of every actor around a generated session, in whichever execution it happens. */
export interface PlannedSession {
  /** The requests at each time that the session is idle. After the last of them it is closed. */
  idle: PlannedRequest[][];
  answers: PlannedAnswer[];
  summaries: ('short' | 'long' | 'failed')[];
  window: WindowPolicy;
  limits: SessionLimits;
  compactAfter: number | null;
  /** The steps of a turn. */
  steps: number;
  finalAttempt: boolean;
  /** The whole session is cancelled at this model call. */
  cancelAt: number | null;
  opens: boolean;
}

const chars = fc.constantFrom(1, 10, 100, 400, 1_500);

const whileBusy = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<PlannedRequest[]>('send', 'again', 'steer', 'raise', 'refresh') },
    { weight: 2, arbitrary: fc.constant<PlannedRequest>('interrupt') },
    { weight: 1, arbitrary: fc.constant<PlannedRequest>('close') },
  ),
  { maxLength: 2 },
);

const quiet: fc.Arbitrary<PlannedRequest[]> = fc.constant([]);

function rarely(requests: fc.Arbitrary<PlannedRequest[]>): fc.Arbitrary<PlannedRequest[]> {
  return fc.oneof({ weight: 3, arbitrary: quiet }, { weight: 1, arbitrary: requests });
}

const plannedAnswer: fc.Arbitrary<PlannedAnswer> = fc.record({
  type: fc.oneof(
    { weight: 6, arbitrary: fc.constant('text' as const) },
    { weight: 4, arbitrary: fc.constant('tools' as const) },
    { weight: 1, arbitrary: fc.constant('failed' as const) },
  ),
  chars,
  calls: fc.array(fc.constantFrom('known' as const, 'asked' as const), { minLength: 1, maxLength: 3 }),
  usage: fc.option(fc.tuple(fc.nat(500), fc.nat(300)), { nil: null }),
  during: rarely(whileBusy),
  duringCalls: rarely(whileBusy),
  whileWaiting: rarely(whileBusy),
  hasPartial: fc.boolean(),
  isInTime: fc.boolean(),
});

/** Random sessions, whose conversation is compacted often, and which reach their limits. */
export const plannedSession: fc.Arbitrary<PlannedSession> = fc.record({
  idle: fc.array(
    fc.array(
      fc.oneof(
        { weight: 8, arbitrary: fc.constant<PlannedRequest>('send') },
        { weight: 2, arbitrary: fc.constantFrom<PlannedRequest[]>('again', 'steer', 'interrupt', 'raise', 'refresh') },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    { minLength: 1, maxLength: 12 },
  ),
  answers: fc.array(plannedAnswer, { minLength: 1, maxLength: 12 }),
  summaries: fc.array(fc.constantFrom('short' as const, 'short' as const, 'long' as const, 'failed' as const), {
    minLength: 1,
    maxLength: 4,
  }),
  window: fc.record({
    maxTokens: fc.constantFrom(3_000, 100_000),
    maxBytes: fc.constantFrom(6_000, 12_000, 1_000_000),
    keepResults: fc.nat(3),
    summarize: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  }),
  limits: fc.constantFrom<SessionLimits[]>({ turns: null, totalTokens: null }, { turns: 3 }, { turns: null, totalTokens: 2_000 }, {}),
  compactAfter: fc.constantFrom(1, 2, 5, null),
  steps: fc.constantFrom(1, 2, 4, 10),
  finalAttempt: fc.boolean(),
  cancelAt: fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(10) }),
  opens: fc.boolean(),
});
