/** The calls of one tenant and one priority that wait in a process. */
export interface WaitingGroup {
  tenant: string;
  /** Lower numbers first. */
  priority: number;
  /** Milliseconds since the oldest of them began. */
  ageMs: number;
  count: number;
  /** Tokens that one of them needs, on average. */
  tokens: number;
}

/** A call that has given its slot back. */
export interface ParkedCall {
  /** Its tenant, a space, and a digest of the call. */
  call: string;
  /** Milliseconds until it looks again. */
  forMs: number;
}

/** What a process reports about one provider. Times are relative to now, because the clocks of processes differ. */
export interface LedgerReport {
  process: string;
  waiting: readonly WaitingGroup[];
  /** Calls that are being made. */
  inFlight: number;
  /** Permits that it holds for calls to come. */
  lent: number;
  /** Permits that it was lent and gives back. */
  returned: number;
  /** Tokens that it has used beyond those that were reserved since the last report; negative: less. */
  spentTokens: number;
  /** Permits that it would like to hold for calls to come. */
  wanted: number;
  /** Tokens that each of these reserves. */
  tokensPerCall: number;
  /** The wait that the provider has asked for. 0: none. */
  holdMs: number;
  /** Refusals since the last report. */
  refused: number;
  /** Refusals lower the rate. */
  learns: boolean;
  /** The limits that headers of answers have named, if the process learns them. */
  headerRequests?: number | undefined;
  headerTokens?: number | undefined;
  /** Calls that have been parked since the last report, and those that have come back. */
  parked: readonly ParkedCall[];
  back: readonly string[];
  /** It has made calls without asking: nothing has been saved up. */
  isAfresh: boolean;
  /** It ends: nothing of it counts any more. */
  leaves: boolean;
}

/** What it may do. */
export interface LedgerAnswer {
  /** The number of permits for each group of the report. */
  granted: number[];
  /** Further permits for calls to come. */
  lent: number;
  /** Milliseconds for which no call is granted. */
  holdMs: number;
  /** The rates that hold now. */
  requestsPerMinute: number;
  tokensPerMinute: number;
  /** Processes that use the limit. */
  workers: number;
  /** Tenants that have calls waiting. */
  tenants: number;
  /** The calls of a tenant that wait or are parked, all processes together, for the tenants of the report. */
  waiting: Record<string, number>;
  parked: Record<string, number>;
  /** The same of all tenants. */
  allWaiting: number;
  allParked: number;
}

/** The common account of all processes that use one limit. */
export interface Ledger {
  /** Milliseconds between two reports of a process whose calls wait. */
  readonly tickMs: number;
  /** Milliseconds that a report waits for more calls that begin at the same time. */
  readonly gatherMs: number;
  /** Rejects if the account cannot be reached. */
  exchange(report: LedgerReport): Promise<LedgerAnswer>;
}

/** The rules that every ledger follows. */
export const LEDGER = {
  /** Unused permits are saved up for this part of a minute's amount: half a second of requests, a second of tokens. */
  savedRequests: 1 / 120,
  savedTokens: 1 / 60,
  /** Milliseconds after which a process that reports no more is forgotten. */
  forgetMs: 950,
  /** Milliseconds in which what a tenant was served counts half. */
  halfLifeMs: 15_000,
  /** Milliseconds after which it is forgotten. */
  creditMs: 60_000,
  /** The most permits of one answer. */
  mostGrants: 256,
  /** The part of what is saved that may be lent. */
  lentPart: 0.25,
  /** The rate after a refusal, and the least, as a part of the limit. */
  cut: 0.85,
  leastRate: 0.5,
  /** Refusals within this time of a cut say nothing new. */
  cutMs: 1_000,
  /** The rate grows fast up to this part of the one that was refused, and slowly beyond; each as a part of the limit in a millisecond. */
  near: 0.95,
  fastGrowth: 1 / 30_000,
  slowGrowth: 1 / 1_200_000,
  /** Milliseconds beyond its time after which a parked call that has not come back is forgotten. */
  parkedSlackMs: 15_000,
} as const;
