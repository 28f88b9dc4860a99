import { randomUUID } from 'node:crypto';
import type { Ledger, LedgerAnswer, LedgerReport, ParkedCall, PlacedCall, WaitingGroup } from './ledger.ts';
import { NO_LIMIT, type ProviderLimits } from './limits.ts';

/** A call that needs a permit. */
export interface GovernedRequest {
  /** Identifies the call in all its attempts. */
  call: string;
  /** The owner of the share that it uses, as a digest. */
  tenant: string;
  /** Lower numbers first. */
  priority: number;
  /** When the call began, by the clock of the Temporal server. */
  since: number;
  /** True if it has been parked, or has failed, and asks again. */
  isBack: boolean;
  /** Tokens of the request, estimated. */
  tokens: number;
}

/** The bounds of the wait for a permit. */
interface PermitWait {
  /** The longest time that it may wait here. */
  holdMs: number;
  /** A call that leaves comes back this long before its turn, so one whose turn is that near stays. Default 0. */
  backMs?: number;
  /** The longest time that the next calls may wait here if nobody knows when their turn is. Default `holdMs`. */
  nextHoldMs?: number;
  signal: AbortSignal;
}

/**
 * The outcome of a request: the call may be made, or would have to wait too long. `waitMs`: the expected time until its turn.
 * `awayMs`: the time after which it should ask again, to be back before its turn.
 */
export type Granted = { type: 'permit'; permit: Permit } | { type: 'wait'; waitMs: number; awayMs: number };

/** Receives the measurements of a provider's permits. */
export interface PermitMeter {
  /** A call has received a permit. `lent`: it was already there. */
  granted: (seconds: number, source: 'lent' | 'granted') => void;
  refused: () => void;
  /** Calls are held for this many seconds. */
  held: (seconds: number) => void;
}

/** How long a permit is held for a future call, in milliseconds. */
const LENT_MS = 300;
/** A permit of this age is no longer used: the ledger may have forgotten it. */
const LENT_AT_MOST_MS = 600;
/** Milliseconds between two reports of a process that has calls in flight but none waiting. */
const ALIVE_MS = 350;
/** The least time between two reports, if calls find no permit. */
const LEAST_GAP_MS = 15;
/** The most permits that are held for future calls. */
const MOST_WANTED = 32;
/** The longest requested wait of a provider that holds all calls. */
const LONGEST_HOLD_MS = 10 * 60 * 1_000;
/** The most groups of one report: the oldest first. */
const MOST_GROUPS = 200;
/** The time after the longest wait of a call in which the ledger has to answer. */
const LATE_MS = 1_000;
/** The weight of a new value in averages. */
const WEIGHT = 0.1;
/** The most calls of one report whose places are wanted. */
const MOST_PLACES = 64;
/** Milliseconds after which a waiting call asks for its place again at the latest, because places are forgotten. */
const PLACE_AGAIN_MS = 10_000;
/**
 * How many calls wait for their turn if nobody knows when it is, so that the provider is never idle for lack of a waiting call: several, if
 * several may begin at once because others end.
 */
const NEXT_CALLS = { least: 2, most: 8 };
/** The bounds of the time after which a call that has left asks again, in milliseconds. */
const AWAY_MS = { least: 1_000, most: 60_000 };
/** Calls that are away for the longest time come back earlier by up to this share, so that they do not come back together. */
const JITTER = 0.1;
/** If the time per permit is only an average, a call comes back after this part of its expected wait. */
const EARLY = 0.35;
/** The assumed tokens of an answer before any is known. */
const FIRST_ANSWER_TOKENS = 500;

interface Entry extends GovernedRequest, Required<Omit<PermitWait, 'signal'>> {
  enteredAt: number;
  /** When its place is wanted again. */
  placeAt: number;
  /** How often it has been in a report. It gets a place if the first one brings no permit, and leaves by later ones, when all have places. */
  reports: number;
  /** True if the ledger may know its place. */
  isPlaced: boolean;
  /** The tokens reserved for it. */
  need: number;
  end: (granted: Granted) => void;
  /** Sets the time by which the ledger has to answer. */
  expectAnswer: (byMs: number) => void;
}

/** The permit for one request. */
export class Permit {
  readonly #owner: ProviderPermits;
  readonly #tokens: number;
  readonly #need: number;
  readonly #since: number;
  #isOpen = true;

  constructor(owner: ProviderPermits, { tokens, need, since }: { tokens: number; need: number; since: number }) {
    this.#owner = owner;
    this.#tokens = tokens;
    this.#need = need;
    this.#since = since;
  }

  /** Records the end of the request. `used`: its tokens, or undefined if unknown. Idempotent. */
  settle(used: number | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#owner.settled({ estimated: this.#tokens, reserved: this.#need, used, since: this.#since });
  }

  /** Records that the provider has refused the request, and may have requested a wait. */
  refused(askedMs: number | undefined): void {
    this.#owner.refused(askedMs ?? 0);
    this.settle(0);
  }

  /** Learns the limits named in the answer headers. */
  learn(limits: { requestsPerMinute?: number | undefined; tokensPerMinute?: number | undefined }): void {
    this.#owner.learn(limits);
  }
}

/**
 * The permits of one provider in one process. Calls that find a lent permit proceed at once. Others wait in the process, which reports them
 * all together, a few times a second and only while there are any.
 */
export class ProviderPermits {
  readonly #limits: ProviderLimits;
  readonly #ledger: Ledger;
  readonly #meter: PermitMeter;
  readonly #process = randomUUID();
  #entries: Entry[] = [];
  /** Permits for future calls. */
  #lent = 0;
  #lentAt = -Infinity;
  /** The tokens that each of these permits has reserved. */
  #lentTokens = 0;
  #inFlight = 0;
  /** The sum of the times when these calls began. */
  #inFlightSince = 0;
  #returned: { count: number; tokens: number } = { count: 0, tokens: 0 };
  #spentTokens = 0;
  #refused = 0;
  #holdUntil = -Infinity;
  #isHoldNew = false;
  #header: { requests?: number | undefined; tokens?: number | undefined } = {};
  #parked: ParkedCall[] = [];
  #gone: string[] = [];
  #recent: number[] = [];
  #answerTokens = FIRST_ANSWER_TOKENS;
  #promptFactor = 1;
  /** How long calls take on average; undefined until one has ended. */
  #callMs: number | undefined;
  #last: LedgerAnswer | undefined;
  #reportedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;
  #isReporting = false;
  /** When the next report is wanted, if it was requested while another one was in flight. */
  #wishedAt = Infinity;
  #isClosed = false;

  constructor(limits: ProviderLimits, ledger: Ledger, meter: PermitMeter) {
    this.#limits = limits;
    this.#ledger = ledger;
    this.#meter = meter;
  }

  get limits(): ProviderLimits {
    return this.#limits;
  }

  /** True if tokens of requests have to be estimated. */
  get countsTokens(): boolean {
    return this.#limits.tokensPerMinute < NO_LIMIT;
  }

  /** The last answer of the ledger. */
  get last(): LedgerAnswer | undefined {
    return this.#last;
  }

  /** Resolves with a permit, or with the expected wait if that is too long. Rejects with the reason of the signal. */
  async acquire(request: GovernedRequest, { holdMs, backMs = 0, nextHoldMs = holdMs, signal }: PermitWait): Promise<Granted> {
    signal.throwIfAborted();
    const now = performance.now();
    const need = this.#needOf(request.tokens);
    this.#recent.push(now);
    if (this.#lent > 0 && this.#entries.length === 0 && now >= this.#holdUntil && now - this.#lentAt < LENT_AT_MOST_MS) {
      this.#lent -= 1;
      this.#spentTokens += need - this.#lentTokens;
      // Another process may have parked it.
      if (request.isBack) this.#gone.push(placeKey(request));
      if (this.#lent === 0 || request.isBack) this.#reportSoon();
      return this.#give(request, need, 0, 'lent');
    }
    return this.#wait(request, { holdMs, backMs, nextHoldMs, need }, signal);
  }

  #wait(request: GovernedRequest, bounds: Pick<Entry, 'holdMs' | 'backMs' | 'nextHoldMs' | 'need'>, signal: AbortSignal): Promise<Granted> {
    const now = performance.now();
    return new Promise<Granted>((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        const index = this.#entries.indexOf(entry);
        if (index >= 0) this.#entries.splice(index, 1);
        if (entry.isPlaced) this.#gone.push(placeKey(entry));
      };
      const abort = (): void => {
        leave();
        reject(signal.reason as Error);
      };
      const end = (granted: Granted): void => {
        leave();
        resolve(granted);
      };
      // The answers decide how long it waits; this timer is for a ledger that does not answer.
      let timer: NodeJS.Timeout | undefined;
      const expectAnswer = (byMs: number): void => {
        clearTimeout(timer);
        const late = (): void => end(leaving(Math.max(1_000, this.#last?.holdMs ?? 0), { backMs: bounds.backMs, varies: false }));
        timer = setTimeout(late, Math.max(0, byMs - performance.now()) + LATE_MS);
      };
      const entry: Entry = {
        ...request,
        ...bounds,
        enteredAt: now,
        placeAt: now,
        reports: 0,
        isPlaced: request.isBack,
        end,
        expectAnswer,
      };
      expectAnswer(now + bounds.holdMs);
      signal.addEventListener('abort', abort, { once: true });
      this.#entries.push(entry);
      this.#reportSoon();
    });
  }

  /** Records a call that releases its slot, so that other processes know how many wait. */
  park(request: GovernedRequest, forMs: number): void {
    const { priority, since } = request;
    this.#parked.push({ call: placeKey(request), forMs: Math.round(forMs), priority, since });
    this.#reportSoon();
  }

  settled({ estimated, reserved, used, since }: { estimated: number; reserved: number; used: number | undefined; since: number }): void {
    this.#inFlight -= 1;
    this.#inFlightSince -= since;
    const ms = performance.now() - since;
    this.#callMs = this.#callMs === undefined ? ms : this.#callMs + WEIGHT * (ms - this.#callMs);
    // Calls of other processes may wait for its place.
    if (this.#limits.concurrency < NO_LIMIT && (this.#last?.allWaiting ?? 0) > 0) this.#reportSoon();
    if (used === undefined) return;
    this.#spentTokens += used - reserved;
    if (used === 0) return;
    // The tokens beyond the request belong to the answer, unless the estimate of the request is too low.
    const beyond = used - estimated * this.#promptFactor;
    if (beyond < 0 && estimated > 0) this.#promptFactor += WEIGHT * (used / estimated - this.#promptFactor);
    this.#answerTokens = Math.max(0, this.#answerTokens + WEIGHT * (beyond - this.#answerTokens));
  }

  refused(askedMs: number): void {
    this.#refused += 1;
    this.#meter.refused();
    const until = performance.now() + Math.min(askedMs, LONGEST_HOLD_MS);
    if (until > this.#holdUntil && askedMs > 0) {
      this.#meter.held((until - Math.max(performance.now(), this.#holdUntil)) / 1_000);
      this.#holdUntil = until;
      this.#isHoldNew = true;
    }
    this.#reportSoon();
  }

  learn({ requestsPerMinute, tokensPerMinute }: { requestsPerMinute?: number | undefined; tokensPerMinute?: number | undefined }): void {
    if (!this.#limits.learn) return;
    this.#header = { requests: requestsPerMinute ?? this.#header.requests, tokens: tokensPerMinute ?? this.#header.tokens };
  }

  /** Returns all permits. Calls that still wait are told to retry. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const entry of this.#entries.slice()) entry.end({ type: 'wait', waitMs: 1_000, awayMs: 1_000 });
    if (this.#reportedAt === -Infinity) return;
    this.#lentAt = -Infinity;
    await this.#ledger.exchange({ ...this.#report({ groups: [], places: [] }, performance.now()), leaves: true }).catch(() => undefined);
  }

  #give(request: GovernedRequest, need: number, waitedMs: number, source: 'lent' | 'granted'): Granted {
    const since = performance.now();
    this.#inFlight += 1;
    this.#inFlightSince += since;
    this.#meter.granted(waitedMs / 1_000, source);
    return { type: 'permit', permit: new Permit(this, { tokens: request.tokens, need, since }) };
  }

  #needOf(tokens: number): number {
    return this.countsTokens ? Math.ceil(tokens * this.#promptFactor + this.#answerTokens) : 0;
  }

  /** Reports as soon as allowed, once for all calls that begin at the same time. */
  #reportSoon(): void {
    const { tickMs, gatherMs } = this.#ledger;
    // Calls that wait behind others get their turn with the next report anyway.
    const isFirst = this.#entries.length <= 1 && (this.#last?.allWaiting ?? 0) === 0;
    const gap = isFirst ? Math.min(LEAST_GAP_MS, tickMs) : tickMs;
    this.#reportAt(Math.max(performance.now() + gatherMs, this.#reportedAt + gap));
  }

  #reportAt(at: number): void {
    if (this.#isReporting) this.#wishedAt = Math.min(this.#wishedAt, at);
    if (this.#isClosed || this.#isReporting || at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => void this.#exchange(), Math.max(0, at - performance.now()));
    // Nobody waits for returned permits.
    if (this.#entries.length === 0) this.#timer.unref();
  }

  async #exchange(): Promise<void> {
    this.#dueAt = Infinity;
    this.#isReporting = true;
    const begun = performance.now();
    const queue = this.#queue(begun);
    this.#reportedAt = begun;
    try {
      const answer = await this.#ledger.exchange(this.#report(queue, begun));
      this.#take(answer, queue, begun);
    } catch {
      // The report is lost, which costs permits but no calls: the next report asks again.
    }
    this.#isReporting = false;
    this.#next();
    this.#reportAt(this.#wishedAt);
    this.#wishedAt = Infinity;
  }

  /** Reports again while calls wait, permits are lent, or calls in flight have to be counted. */
  #next(): void {
    const { tickMs } = this.#ledger;
    const isCounted = this.#inFlight > 0 && this.#limits.concurrency < NO_LIMIT;
    const hasNews = this.#parked.length > 0 || this.#gone.length > 0 || this.#refused > 0;
    if (this.#entries.length > 0 || hasNews) this.#reportAt(this.#reportedAt + tickMs);
    else if (this.#lent > 0) this.#reportAt(Math.max(this.#lentAt + LENT_MS, this.#reportedAt + tickMs));
    else if (isCounted || this.#returned.count > 0 || Math.abs(this.#spentTokens) > 0) this.#reportAt(this.#reportedAt + ALIVE_MS);
  }

  /** Returns a report, and resets the counts in it. */
  #report({ groups, places }: Queue, now: number): LedgerReport {
    if (this.#lent > 0 && (now - this.#lentAt >= LENT_MS || now < this.#holdUntil)) {
      this.#returned = { count: this.#returned.count + this.#lent, tokens: this.#returned.tokens + this.#lent * this.#lentTokens };
      this.#lent = 0;
    }
    this.#recent = this.#recent.filter((at) => at > now - LENT_MS);
    const isIdle = groups.length === 0 && this.#recent.length === 0;
    const tokensPerCall = this.#needOf(0);
    const report: LedgerReport = {
      process: this.#process,
      waiting: groups.map(({ entries: _, ...group }) => group),
      places: places.map(({ call, priority, since }) => ({ call, priority, since })),
      inFlight: this.#inFlight,
      callMs: this.#meanCallMs(now),
      lent: this.#lent,
      returned: this.#returned.count,
      // The ledger uses the current number of tokens per call.
      spentTokens: Math.round(this.#spentTokens + this.#returned.count * tokensPerCall - this.#returned.tokens),
      wanted: isIdle ? 0 : Math.max(0, Math.min(MOST_WANTED, this.#recent.length + 1) - this.#lent),
      tokensPerCall,
      holdMs: this.#isHoldNew ? Math.max(0, Math.ceil(this.#holdUntil - now)) : 0,
      refused: this.#refused,
      learns: this.#limits.learn,
      ...(this.#header.requests === undefined ? {} : { headerRequests: this.#header.requests }),
      ...(this.#header.tokens === undefined ? {} : { headerTokens: this.#header.tokens }),
      parked: this.#parked,
      gone: this.#gone,
      isAfresh: false,
      leaves: false,
    };
    this.#returned = { count: 0, tokens: 0 };
    this.#spentTokens = 0;
    this.#refused = 0;
    this.#isHoldNew = false;
    this.#parked = [];
    this.#gone = [];
    return report;
  }

  /** How long calls take on average: at least as long as those that are being made. 0: unknown. */
  #meanCallMs(now: number): number {
    const soFarMs = this.#inFlight > 0 ? now - this.#inFlightSince / this.#inFlight : 0;
    return Math.round(Math.max(this.#callMs ?? 0, soFarMs));
  }

  /** Returns the waiting calls in groups, and those whose places are wanted. */
  #queue(now: number): Queue {
    const groups = new Map<string, Group>();
    const places: Place[] = [];
    for (const entry of this.#entries.toSorted(bySeniority)) {
      const { tenant, priority, since } = entry;
      if (entry.reports > 0 && entry.placeAt <= now && places.length < MOST_PLACES) {
        places.push({ call: placeKey(entry), priority, since, entry, wasPlaced: entry.isPlaced });
        entry.isPlaced = true;
      }
      entry.reports += 1;
      const key = `${tenant} ${priority}`;
      const known = groups.get(key);
      if (known === undefined) {
        groups.set(key, { tenant, priority, since, count: 1, tokens: entry.need, entries: [entry] });
      } else {
        known.count += 1;
        known.tokens += entry.need;
        known.entries.push(entry);
      }
    }
    const list = [...groups.values()].map((group) => ({ ...group, tokens: Math.ceil(group.tokens / group.count) }));
    if (list.length <= MOST_GROUPS) return { groups: list, places };
    return { groups: list.toSorted((one, other) => one.since - other.since).slice(0, MOST_GROUPS), places };
  }

  /** Gives the permits in an answer to waiting calls, and ends waits that would be too long. */
  #take(answer: LedgerAnswer, { groups, places }: Queue, askedAt: number): void {
    this.#last = answer;
    const now = performance.now();
    this.#holdUntil = Math.max(this.#holdUntil, now + answer.holdMs);
    if (answer.lent > 0) {
      this.#lentTokens = (this.#lent * this.#lentTokens + answer.lent * this.#needOf(0)) / (this.#lent + answer.lent);
      this.#lent += answer.lent;
      this.#lentAt = askedAt;
    }
    for (const [index, { entries, tokens }] of groups.entries()) {
      let left = answer.granted[index] ?? 0;
      for (const entry of entries) {
        if (left === 0) break;
        left -= 1;
        this.#spentTokens += entry.need - tokens;
        // The call may have been cancelled meanwhile: its permit goes to the next one.
        if (!this.#entries.includes(entry)) {
          this.#keep(entry.need);
          continue;
        }
        entry.end(this.#give(entry, entry.need, now - entry.enteredAt, 'granted'));
      }
    }
    for (const [index, { entry, wasPlaced }] of places.entries()) {
      if (wasPlaced && this.#entries.includes(entry)) this.#stayOrLeave(entry, { ahead: answer.ahead[index] ?? 0, answer, now });
    }
    // A wait that the provider has requested meanwhile changes the expectations.
    const nextMs = this.#nextMs(answer, now);
    for (const entry of this.#entries) {
      if (nextMs > Math.max(entry.backMs, entry.enteredAt + entry.holdMs - now)) entry.placeAt = Math.min(entry.placeAt, now);
    }
  }

  #keep(tokens: number): void {
    this.#lentTokens = (this.#lent * this.#lentTokens + tokens) / (this.#lent + 1);
    this.#lent += 1;
    this.#lentAt = performance.now();
  }

  #nextMs({ nextMs }: LedgerAnswer, now: number): number {
    return Math.max(nextMs, this.#holdUntil - now);
  }

  /** Lets a call wait on, or ends its wait if it would be too long. */
  #stayOrLeave(entry: Entry, { ahead, answer, now }: { ahead: number; answer: LedgerAnswer; now: number }): void {
    const { enteredAt, holdMs, backMs, nextHoldMs } = entry;
    const { permitMs, varies } = answer;
    const waitMs = this.#nextMs(answer, now) + ahead * permitMs;
    const waitedMs = now - enteredAt;
    const isShort = waitedMs + waitMs <= holdMs;
    const isNear = waitMs <= backMs && waitedMs < 2 * holdMs;
    const { concurrency } = this.#limits;
    const nextCalls = concurrency === NO_LIMIT ? NEXT_CALLS.least : NEXT_CALLS.most;
    const isNext = varies && ahead < nextCalls && waitedMs < nextHoldMs;
    if (!isShort && !isNear && !isNext) {
      entry.end(leaving(waitMs, { backMs, varies }));
      return;
    }
    const againAt = Math.min(isShort ? enteredAt + holdMs : now + waitMs, now + PLACE_AGAIN_MS);
    entry.placeAt = Math.max(againAt, now + this.#ledger.tickMs);
    entry.expectAnswer(entry.placeAt);
  }
}

/** A call whose place is wanted. */
interface Place extends PlacedCall {
  entry: Entry;
  /** True if it had one already: so have the calls that began at the same time in other processes. */
  wasPlaced: boolean;
}

interface Queue {
  groups: readonly Group[];
  places: readonly Place[];
}

interface Group extends WaitingGroup {
  entries: Entry[];
}

/** Returns when a call asks again that would wait too long. */
function leaving(waitMs: number, { backMs, varies }: { backMs: number; varies: boolean }): Granted {
  const untilBack = varies ? Math.min(waitMs * EARLY, waitMs - backMs) : waitMs - backMs;
  const mostMs = AWAY_MS.most * (1 - JITTER * Math.random());
  return { type: 'wait', waitMs: Math.ceil(waitMs), awayMs: Math.ceil(Math.max(AWAY_MS.least, Math.min(mostMs, untilBack))) };
}

function bySeniority(one: Entry, other: Entry): number {
  return one.priority - other.priority || one.since - other.since || (one.call < other.call ? -1 : 1);
}

function placeKey({ tenant, call }: GovernedRequest): string {
  return `${tenant} ${call}`;
}
