/** The calls of one tenant and one priority that wait in a process. */
export interface WaitingGroup {
  tenant: string;
  /** Lower numbers first. */
  priority: number;
  /** When the oldest call began, by the clock of the Temporal server, which all processes share. */
  since: number;
  count: number;
  /** The average number of tokens per call. */
  tokens: number;
}

/** A call whose place in the order of service counts: it waits, or has released its slot. */
export interface PlacedCall {
  /** Its tenant, a space, and a digest of the call. */
  call: string;
  priority: number;
  /** When it began, like that of a group. */
  since: number;
}

/** A call that has released its slot. */
export interface ParkedCall extends PlacedCall {
  /** Milliseconds until it tries again. */
  forMs: number;
}

/** What a process reports about one provider. Times are relative to now, because the clocks of processes differ, unless they are the server's. */
export interface LedgerReport {
  process: string;
  waiting: readonly WaitingGroup[];
  /** Waiting calls whose places are wanted, which gives them places for `placeMs`. */
  places: readonly PlacedCall[];
  /** Calls that are being made. */
  inFlight: number;
  /** How long its calls take on average, in milliseconds. 0: unknown. */
  callMs: number;
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
  /** Calls that were parked since the last report. */
  parked: readonly ParkedCall[];
  /** Calls with places that no longer wait. */
  gone: readonly string[];
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
  /** The waiting calls of all processes. */
  allWaiting: number;
  /** Milliseconds until the next permit is available; 0 if one is. */
  nextMs: number;
  /** Milliseconds from one permit to the next. */
  permitMs: number;
  /** True if this time is only an average: tokens or the durations of calls decide it. */
  varies: boolean;
  /** For each place of the report: how many permits go to other calls first, parked ones included. */
  ahead: number[];
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
  /** What becomes available between two reports is not lost: 150 ms, as a part of a minute. */
  betweenReports: 1 / 400,
  /** Milliseconds after which a process that no longer reports is forgotten. */
  forgetMs: 950,
  /** The half-life of a tenant's past usage, in milliseconds. */
  halfLifeMs: 15_000,
  /** Milliseconds after which past usage of a tenant without calls is forgotten. */
  creditMs: 60_000,
  /** A new tenant is served after those that were served least: its usage begins with theirs and this amount. */
  newcomer: 0.001,
  /** Milliseconds after which the place of a waiting call that is no longer wanted is forgotten. */
  placeMs: 15_000,
  /** The most tenants whose calls have places that are distinguished. */
  mostTenants: 300,
  /** The assumed duration of calls if no process knows it. */
  callMs: 1_000,
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
