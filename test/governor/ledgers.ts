import fc from 'fast-check';
import type { LedgerReport } from '../../src/governor/ledger.ts';

/** A report without anything in it. */
export const QUIET: LedgerReport = {
  process: 'p0',
  waiting: [],
  inFlight: 0,
  lent: 0,
  returned: 0,
  spentTokens: 0,
  wanted: 0,
  tokensPerCall: 0,
  holdMs: 0,
  refused: 0,
  learns: true,
  parked: [],
  back: [],
  isAfresh: false,
  leaves: false,
};

/** A step of several processes that share a limit: who reports what, and how many milliseconds after the previous step. */
export interface Step {
  process: number;
  afterMs: number;
  /** Calls that begin: by tenant and priority. */
  begin: { tenant: string; priority: number; count: number; tokens: number }[];
  /** The part of the calls under way that ends. */
  ends: number;
  /** How long the process keeps what it was lent, or that it gives it back. */
  givesBack: boolean;
  wanted: number;
  refused: boolean;
  holdMs: number;
  dies: boolean;
  parks: boolean;
}

export const STEPS: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    process: fc.nat({ max: 3 }),
    afterMs: fc.oneof(fc.nat({ max: 120 }), fc.nat({ max: 3_000 })),
    begin: fc.array(
      fc.record({
        tenant: fc.constantFrom('ta', 'tb', 'tc'),
        priority: fc.integer({ min: 1, max: 3 }),
        count: fc.integer({ min: 1, max: 12 }),
        tokens: fc.integer({ min: 1, max: 4_000 }),
      }),
      { maxLength: 3 },
    ),
    ends: fc.constantFrom(0, 0.5, 1),
    givesBack: fc.boolean(),
    wanted: fc.nat({ max: 6 }),
    refused: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    holdMs: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 800 }) }),
    dies: fc.oneof({ weight: 19, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    parks: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  }),
  { minLength: 5, maxLength: 40 },
);

export const KEPT = fc.record({
  requestsPerMinute: fc.integer({ min: 1, max: 3_000 }),
  tokensPerMinute: fc.oneof(fc.constant(1e12), fc.integer({ min: 1_000, max: 2_000_000 })),
  concurrency: fc.oneof(fc.constant(1e12), fc.integer({ min: 1, max: 40 })),
});

/** One process, simulated by a test: it keeps its grants, and reports them. */
export class PlayedProcess {
  readonly name: string;
  inFlight = 0;
  lent = 0;
  waiting: { tenant: string; priority: number; count: number; tokens: number; since: number }[] = [];
  #away: string[] = [];
  #calls = 0;

  constructor(name: string) {
    this.name = name;
  }

  report(step: Step, now: number): LedgerReport {
    this.inFlight -= Math.floor(this.inFlight * step.ends);
    for (const one of step.begin) this.waiting.push({ ...one, since: now });
    const returned = step.givesBack ? this.lent : 0;
    this.lent -= returned;
    const back = step.parks ? [] : this.#away.splice(0, 1);
    const parked: LedgerReport['parked'] = step.parks ? [{ call: `ta ${this.name}-${(this.#calls += 1)}`, forMs: 2_000 }] : [];
    this.#away.push(...parked.map(({ call }) => call));
    return {
      ...QUIET,
      process: this.name,
      waiting: this.waiting.map(({ since, ...group }) => ({ ...group, ageMs: now - since })),
      inFlight: this.inFlight,
      lent: this.lent,
      returned,
      wanted: step.wanted,
      tokensPerCall: 100,
      holdMs: step.holdMs,
      refused: step.refused ? 1 : 0,
      parked,
      back,
    };
  }

  take(granted: readonly number[], lent: number): void {
    for (const [index, count] of granted.entries()) {
      const group = this.waiting[index];
      if (group !== undefined) group.count -= count;
      this.inFlight += count;
    }
    this.waiting = this.waiting.filter(({ count }) => count > 0);
    this.lent += lent;
  }
}
