import { randomUUID } from 'node:crypto';
import type { Ledger, LedgerAnswer, LedgerReport, ParkedCall, WaitingGroup } from './ledger.ts';
import { NO_LIMIT, type ProviderLimits } from './limits.ts';

/** A call that needs a permit. */
export interface GovernedRequest {
  /** Identifies the call in all its attempts. */
  call: string;
  /** The owner of the share that it uses, as a digest. */
  tenant: string;
  /** Lower numbers first. */
  priority: number;
  /** Milliseconds since the call began, including earlier attempts. */
  ageMs: number;
  /** Tokens of the request, estimated. */
  tokens: number;
}

/** The bounds of the wait for a permit. */
interface PermitWait {
  /** The longest time that it may wait here. */
  holdMs: number;
  signal: AbortSignal;
}

/** The outcome of a request: the call may be made, or would have to wait too long. */
export type Granted = { type: 'permit'; permit: Permit } | { type: 'wait'; waitMs: number };

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
/** The assumed tokens of an answer before any is known. */
const FIRST_ANSWER_TOKENS = 500;

interface Entry extends GovernedRequest {
  since: number;
  holdMs: number;
  /** The tokens reserved for it. */
  need: number;
  end: (granted: Granted) => void;
}

/** The permit for one request. */
export class Permit {
  readonly #owner: ProviderPermits;
  readonly #tokens: number;
  readonly #need: number;
  readonly #since = performance.now();
  #isOpen = true;

  constructor(owner: ProviderPermits, { tokens, need }: { tokens: number; need: number }) {
    this.#owner = owner;
    this.#tokens = tokens;
    this.#need = need;
  }

  /** Records the end of the request. `used`: its tokens, or undefined if unknown. Idempotent. */
  settle(used: number | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#owner.settled({ estimated: this.#tokens, reserved: this.#need, used, ms: performance.now() - this.#since });
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
  #returned: { count: number; tokens: number } = { count: 0, tokens: 0 };
  #spentTokens = 0;
  #refused = 0;
  #holdUntil = -Infinity;
  #isHoldNew = false;
  #header: { requests?: number | undefined; tokens?: number | undefined } = {};
  #parked: ParkedCall[] = [];
  readonly #away = new Set<string>();
  #back: string[] = [];
  #recent: number[] = [];
  #answerTokens = FIRST_ANSWER_TOKENS;
  #promptFactor = 1;
  #callMs = 1_000;
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
  async acquire(request: GovernedRequest, { holdMs, signal }: PermitWait): Promise<Granted> {
    signal.throwIfAborted();
    const now = performance.now();
    const need = this.#needOf(request.tokens);
    this.#recent.push(now);
    if (this.#away.delete(parkedKey(request))) this.#back.push(parkedKey(request));
    if (this.#lent > 0 && this.#entries.length === 0 && now >= this.#holdUntil && now - this.#lentAt < LENT_AT_MOST_MS) {
      this.#lent -= 1;
      this.#spentTokens += need - this.#lentTokens;
      if (this.#lent === 0) this.#reportSoon();
      return this.#give(request, need, 0, 'lent');
    }
    return new Promise<Granted>((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        const index = this.#entries.indexOf(entry);
        if (index >= 0) this.#entries.splice(index, 1);
      };
      const abort = (): void => {
        leave();
        reject(signal.reason as Error);
      };
      const end = (granted: Granted): void => {
        leave();
        resolve(granted);
      };
      const entry: Entry = { ...request, since: now, holdMs, need, end };
      // Each answer re-evaluates the wait; this timer is for a ledger that does not answer.
      const timer = setTimeout(() => end({ type: 'wait', waitMs: Math.max(1_000, this.#last?.holdMs ?? 0) }), holdMs + LATE_MS);
      signal.addEventListener('abort', abort, { once: true });
      this.#entries.push(entry);
      this.#reportSoon();
    });
  }

  /** Records a call that releases its slot, so that other processes know how many wait. */
  park(request: GovernedRequest, forMs: number): void {
    const call = parkedKey(request);
    this.#parked.push({ call, forMs: Math.round(forMs) });
    this.#away.add(call);
    if (this.#away.size > 10_000) this.#away.clear();
    this.#reportSoon();
  }

  settled({ estimated, reserved, used, ms }: { estimated: number; reserved: number; used: number | undefined; ms: number }): void {
    this.#inFlight -= 1;
    this.#callMs += WEIGHT * (ms - this.#callMs);
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
    for (const entry of this.#entries.slice()) entry.end({ type: 'wait', waitMs: 1_000 });
    if (this.#reportedAt === -Infinity) return;
    this.#lentAt = -Infinity;
    await this.#ledger.exchange({ ...this.#report([], performance.now()), leaves: true }).catch(() => undefined);
  }

  #give(request: GovernedRequest, need: number, waitedMs: number, source: 'lent' | 'granted'): Granted {
    this.#inFlight += 1;
    this.#meter.granted(waitedMs / 1_000, source);
    return { type: 'permit', permit: new Permit(this, { tokens: request.tokens, need }) };
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
    const groups = this.#groups(begun);
    this.#reportedAt = begun;
    try {
      const answer = await this.#ledger.exchange(this.#report(groups, begun));
      this.#take(answer, groups, begun);
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
    const hasNews = this.#parked.length > 0 || this.#back.length > 0 || this.#refused > 0;
    if (this.#entries.length > 0 || hasNews) this.#reportAt(this.#reportedAt + tickMs);
    else if (this.#lent > 0) this.#reportAt(Math.max(this.#lentAt + LENT_MS, this.#reportedAt + tickMs));
    else if (isCounted || this.#returned.count > 0 || Math.abs(this.#spentTokens) > 0) this.#reportAt(this.#reportedAt + ALIVE_MS);
  }

  /** Returns a report, and resets the counts in it. */
  #report(groups: readonly Group[], now: number): LedgerReport {
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
      inFlight: this.#inFlight,
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
      back: this.#back,
      isAfresh: false,
      leaves: false,
    };
    this.#returned = { count: 0, tokens: 0 };
    this.#spentTokens = 0;
    this.#refused = 0;
    this.#isHoldNew = false;
    this.#parked = [];
    this.#back = [];
    return report;
  }

  #groups(now: number): Group[] {
    const groups = new Map<string, Group>();
    const ordered = this.#entries.toSorted(bySeniority);
    for (const entry of ordered) {
      const key = `${entry.tenant} ${entry.priority}`;
      const known = groups.get(key);
      if (known === undefined) {
        const ageMs = Math.round(entry.ageMs + now - entry.since);
        groups.set(key, { tenant: entry.tenant, priority: entry.priority, ageMs, count: 1, tokens: entry.need, entries: [entry] });
      } else {
        known.count += 1;
        known.tokens += entry.need;
        known.entries.push(entry);
      }
    }
    const list = [...groups.values()].map((group) => ({ ...group, tokens: Math.ceil(group.tokens / group.count) }));
    return list.length <= MOST_GROUPS ? list : list.toSorted((one, other) => other.ageMs - one.ageMs).slice(0, MOST_GROUPS);
  }

  /** Gives the permits in an answer to waiting calls, and ends waits that would be too long. */
  #take(answer: LedgerAnswer, groups: readonly Group[], askedAt: number): void {
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
        entry.end(this.#give(entry, entry.need, now - entry.since, 'granted'));
      }
    }
    this.#endLongWaits(answer, now);
  }

  #keep(tokens: number): void {
    this.#lentTokens = (this.#lent * this.#lentTokens + tokens) / (this.#lent + 1);
    this.#lent += 1;
    this.#lentAt = performance.now();
  }

  #endLongWaits(answer: LedgerAnswer, now: number): void {
    const places = new Map<string, { own: number; place: number }>();
    for (const { tenant } of this.#entries) places.set(tenant, { own: (places.get(tenant)?.own ?? 0) + 1, place: 0 });
    for (const entry of this.#entries.toSorted(bySeniority)) {
      const { own, place } = places.get(entry.tenant) ?? { own: 1, place: 0 };
      places.set(entry.tenant, { own, place: place + 1 });
      const waitMs = Math.max(0, this.#holdUntil - now) + this.#expectedMs(entry, { own, place: place + 1 }, answer);
      if (now - entry.since + waitMs <= entry.holdMs) continue;
      entry.end({ type: 'wait', waitMs: Math.ceil(waitMs) });
    }
  }

  /** Returns the expected time until a call gets its permit, from the calls of its tenant and of others ahead of it. */
  #expectedMs({ tenant, ageMs }: Entry, { own, place }: { own: number; place: number }, answer: LedgerAnswer): number {
    const ofTenant = Math.max(own, answer.waiting[tenant] ?? 0);
    // Calls that have come back are older than all parked calls.
    const parked = ageMs > 0 ? 0 : 1;
    const before = Math.ceil((place * ofTenant) / own) + parked * (answer.parked[tenant] ?? 0);
    // Other tenants may have a call for each of its turns, or only the known ones: the truth is assumed to be in between.
    const atMost = before * Math.max(1, answer.tenants);
    const known = Math.min(atMost, Math.max(before, answer.allWaiting + parked * answer.allParked));
    const calls = Math.max(1, Math.sqrt(atMost * known));
    const perCall = Math.max(
      60_000 / answer.requestsPerMinute,
      (60_000 * this.#needOf(0)) / answer.tokensPerMinute,
      this.#callMs / this.#limits.concurrency,
    );
    return calls * perCall;
  }
}

interface Group extends WaitingGroup {
  entries: Entry[];
}

function bySeniority(one: Entry, other: Entry): number {
  return one.priority - other.priority || one.since - one.ageMs - (other.since - other.ageMs);
}

function parkedKey({ tenant, call }: GovernedRequest): string {
  return `${tenant} ${call}`;
}
