/** The calls of one tenant and one priority that wait in a process. */
export interface WaitingGroup {
  tenant: string;
  /** Lower numbers first. */
  priority: number;
  /** Milliseconds since the oldest call began. */
  ageMs: number;
  count: number;
  /** The average number of tokens per call. */
  tokens: number;
}

/** A call that has released its slot. */
export interface ParkedCall {
  /** Its tenant, a space, and a digest of the call. */
  call: string;
  /** Milliseconds until it tries again. */
  forMs: number;
}

/** What a process reports about one provider. Times are relative to now, because the clocks of processes differ. */
export interface LedgerReport {
  process: string;
  waiting: readonly WaitingGroup[];
  /** Calls that are being made. */
  inFlight: number;
  /** Permits that it holds for future calls. */
  lent: number;
  /** Lent permits that it returns. */
  returned: number;
  /** Tokens used beyond the reserved ones since the last report; negative if fewer. */
  spentTokens: number;
  /** Permits that it wants to hold for future calls. */
  wanted: number;
  /** Tokens that each of these permits reserves. */
  tokensPerCall: number;
  /** The wait that the provider has requested. 0: none. */
  holdMs: number;
  /** Refusals since the last report. */
  refused: number;
  /** True if refusals lower the rate. */
  learns: boolean;
  /** The limits named in answer headers, if the process learns them. */
  headerRequests?: number | undefined;
  headerTokens?: number | undefined;
  /** Calls that were parked since the last report, and calls that have come back. */
  parked: readonly ParkedCall[];
  back: readonly string[];
  /** True if it has made calls without the ledger: nothing has been saved up. */
  isAfresh: boolean;
  /** True if it ends and no longer counts. */
  leaves: boolean;
}

/** The answer to a report. */
export interface LedgerAnswer {
  /** The number of permits for each group of the report. */
  granted: number[];
  /** Further permits for future calls. */
  lent: number;
  /** Milliseconds during which no call is granted. */
  holdMs: number;
  /** The current rates. */
  requestsPerMinute: number;
  tokensPerMinute: number;
  /** The number of processes that use the limit. */
  workers: number;
  /** The number of tenants with waiting calls. */
  tenants: number;
  /** The waiting and parked calls of all processes, for each tenant of the report. */
  waiting: Record<string, number>;
  parked: Record<string, number>;
  /** The same for all tenants together. */
  allWaiting: number;
  allParked: number;
}

/** The shared account of all processes that use one limit. */
export interface Ledger {
  /** Milliseconds between two reports of a process whose calls wait. */
  readonly tickMs: number;
  /** Milliseconds that a report waits for more calls, to batch those that begin at the same time. */
  readonly gatherMs: number;
  /** Rejects if the account cannot be reached. */
  exchange(report: LedgerReport): Promise<LedgerAnswer>;
}

/** The rules that every ledger follows. */
export const LEDGER = {
  /** Unused permits accumulate up to this part of a minute's amount: half a second of requests, a second of tokens. */
  savedRequests: 1 / 120,
  savedTokens: 1 / 60,
  /** Milliseconds after which a process that no longer reports is forgotten. */
  forgetMs: 950,
  /** The half-life of a tenant's past usage, in milliseconds. */
  halfLifeMs: 15_000,
  /** Milliseconds after which past usage is forgotten. */
  creditMs: 60_000,
  /** The most permits of one answer. */
  mostGrants: 256,
  /** The part of the accumulated permits that may be lent. */
  lentPart: 0.25,
  /** The factor for the rate after a refusal, and the lowest rate as a part of the limit. */
  cut: 0.85,
  leastRate: 0.5,
  /** Milliseconds after a cut in which further refusals are ignored. */
  cutMs: 1_000,
  /** The rate grows fast up to this part of the refused rate, and slowly beyond it; each as a part of the limit per millisecond. */
  near: 0.95,
  fastGrowth: 1 / 30_000,
  slowGrowth: 1 / 1_200_000,
  /** Milliseconds past its time after which a parked call that has not come back is forgotten. */
  parkedSlackMs: 15_000,
} as const;
