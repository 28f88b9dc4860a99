import fc from 'fast-check';
import type { LedgerReport } from '../../src/governor/ledger.ts';

/** A report without anything in it. */
export const QUIET: LedgerReport = {
  process: 'p0',
  waiting: [],
  places: [],
  inFlight: 0,
  callMs: 0,
  lent: 0,
  returned: 0,
  spentTokens: 0,
  wanted: 0,
  tokensPerCall: 0,
  holdMs: 0,
  refused: 0,
  learns: true,
  parked: [],
  gone: [],
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
  /** Whether waiting calls ask for their places; the part of them that is parked or ends. */
  asks: boolean;
  parks: boolean;
  leaves: boolean;
  callMs: number;
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
    asks: fc.boolean(),
    parks: fc.boolean(),
    leaves: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    callMs: fc.nat({ max: 20_000 }),
  }),
  { minLength: 5, maxLength: 40 },
);

export const KEPT = fc.record({
  requestsPerMinute: fc.integer({ min: 1, max: 3_000 }),
  tokensPerMinute: fc.oneof(fc.constant(1e12), fc.integer({ min: 1_000, max: 2_000_000 })),
  concurrency: fc.oneof(fc.constant(1e12), fc.integer({ min: 1, max: 40 })),
});

interface PlayedCall {
  call: string;
  tenant: string;
  priority: number;
  since: number;
  tokens: number;
  isPlaced: boolean;
}

/** One process, simulated by a test: it keeps its grants, and reports them. */
export class PlayedProcess {
  readonly name: string;
  inFlight = 0;
  lent = 0;
  #calls: PlayedCall[] = [];
  #groups: PlayedCall[][] = [];
  #away: PlayedCall[] = [];
  #gone: string[] = [];
  #begun = 0;

  constructor(name: string) {
    this.name = name;
  }

  report(step: Step, now: number): LedgerReport {
    this.inFlight -= Math.floor(this.inFlight * step.ends);
    for (const { count, ...call } of step.begin) {
      for (let index = 0; index < count; index += 1) {
        this.#begun += 1;
        const since = now - (this.#begun % 3);
        this.#calls.push({ ...call, call: `${call.tenant} ${this.name}-${this.#begun}`, since, isPlaced: false });
      }
    }
    const returned = step.givesBack ? this.lent : 0;
    this.lent -= returned;
    // Every other call is parked, or comes back.
    const parks = step.parks ? this.#calls.filter(({ isPlaced }, index) => isPlaced && index % 2 === 0) : [];
    const back = step.parks ? [] : this.#away;
    this.#calls = [...this.#calls.filter((one) => !parks.includes(one)), ...back];
    this.#away = step.parks ? [...this.#away, ...parks] : [];
    this.#calls.sort((one, other) => one.priority - other.priority || one.since - other.since || (one.call < other.call ? -1 : 1));
    const asking = step.asks ? this.#calls.slice(0, 10) : [];
    for (const one of asking) one.isPlaced = true;
    const groups = new Map<string, PlayedCall[]>();
    for (const one of this.#calls)
      groups.set(`${one.tenant} ${one.priority}`, [...(groups.get(`${one.tenant} ${one.priority}`) ?? []), one]);
    this.#groups = [...groups.values()];
    const gone = this.#gone;
    this.#gone = [];
    return {
      ...QUIET,
      process: this.name,
      waiting: this.#groups.map((group) => {
        const [{ tenant, priority, since } = { tenant: '', priority: 0, since: 0 }] = group;
        const tokens = Math.ceil(group.reduce((sum, one) => sum + one.tokens, 0) / group.length);
        return { tenant, priority, since, tokens, count: group.length };
      }),
      places: asking.map(({ call, priority, since }) => ({ call, priority, since })),
      inFlight: this.inFlight,
      callMs: step.callMs,
      lent: this.lent,
      returned,
      wanted: step.wanted,
      tokensPerCall: 100,
      holdMs: step.holdMs,
      refused: step.refused ? 1 : 0,
      parked: parks.map(({ call, priority, since }) => ({ call, priority, since, forMs: 2_000 })),
      gone,
      leaves: step.leaves,
    };
  }

  take(granted: readonly number[], lent: number): void {
    for (const [index, count] of granted.entries()) {
      const served = this.#groups[index]?.slice(0, count) ?? [];
      this.#gone.push(...served.filter(({ isPlaced }) => isPlaced).map(({ call }) => call));
      this.#calls = this.#calls.filter((one) => !served.includes(one));
      this.inFlight += count;
    }
    this.lent += lent;
  }
}
