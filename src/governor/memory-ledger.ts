import { LEDGER as L, type Ledger, type LedgerAnswer, type LedgerReport, type WaitingGroup } from './ledger.ts';
import { NO_LIMIT, type ProviderLimits } from './limits.ts';

/** The limits that a ledger keeps. */
export type KeptLimits = Pick<ProviderLimits, 'requestsPerMinute' | 'tokensPerMinute' | 'concurrency'>;

interface Participant {
  until: number;
  inFlight: number;
  lent: number;
  groups: readonly (WaitingGroup & { since: number })[];
}

/** A group of waiting calls, with its index in the report of its process. */
interface Candidate {
  process: string;
  index: number;
  priority: number;
  since: number;
  tokens: number;
  left: number;
}

/**
 * The ledger of one process, which may have several workers. The Redis script follows the same rules: a test compares the answers
 * of both.
 */
export class MemoryLedger implements Ledger {
  readonly tickMs = 25;
  readonly gatherMs = 0;
  readonly #limits: KeptLimits;
  readonly #now: () => number;
  readonly #participants = new Map<string, Participant>();
  readonly #served = new Map<string, { amount: number; at: number }>();
  readonly #parked = new Map<string, number>();
  #at: number | undefined;
  #requests = 0;
  #tokens = 0;
  #rate = 1;
  #top = 1;
  #cutAt = -Infinity;
  #holdUntil = 0;
  #headerRequests = NO_LIMIT;
  #headerTokens = NO_LIMIT;

  constructor(limits: KeptLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  exchange(report: LedgerReport): Promise<LedgerAnswer> {
    return Promise.resolve(this.exchangeNow(report));
  }

  exchangeNow(report: LedgerReport): LedgerAnswer {
    const now = this.#now();
    this.#learn(report, now);
    this.#refill(report, now);
    this.#note(report, now);
    const { requestsPerMinute, tokensPerMinute } = this.#rates();
    const granted = now < this.#holdUntil ? report.waiting.map(() => 0) : this.#grant(report, now);
    this.#settle(report.process, granted);
    const { tenants, waiting, all } = this.#counts();
    const lent = now < this.#holdUntil || all > 0 ? 0 : this.#lend(report);
    const parked = this.#parkedCounts(now);
    return {
      granted,
      lent,
      holdMs: Math.max(0, Math.ceil(this.#holdUntil - now)),
      requestsPerMinute,
      tokensPerMinute,
      workers: Math.max(1, this.#participants.size),
      tenants,
      waiting: Object.fromEntries(report.waiting.map(({ tenant }) => [tenant, waiting.get(tenant) ?? 0])),
      parked: Object.fromEntries(report.waiting.map(({ tenant }) => [tenant, parked.get(tenant) ?? 0])),
      allWaiting: all,
      allParked: this.#parked.size,
    };
  }

  /** Returns the rates allowed by configuration, headers and refusals. */
  #rates(): { requestsPerMinute: number; tokensPerMinute: number } {
    return {
      requestsPerMinute: Math.min(this.#limits.requestsPerMinute, this.#headerRequests) * this.#rate,
      tokensPerMinute: Math.min(this.#limits.tokensPerMinute, this.#headerTokens) * this.#rate,
    };
  }

  #learn({ refused, learns, holdMs, headerRequests, headerTokens }: LedgerReport, now: number): void {
    const passed = Math.max(0, now - (this.#at ?? now));
    const growth = this.#rate < this.#top * L.near ? L.fastGrowth : L.slowGrowth;
    this.#rate = Math.min(1, this.#rate + passed * growth);
    this.#top = Math.max(this.#top, this.#rate);
    this.#headerRequests = headerRequests ?? this.#headerRequests;
    this.#headerTokens = headerTokens ?? this.#headerTokens;
    if (holdMs > 0) this.#holdUntil = Math.max(this.#holdUntil, now + holdMs);
    if (!learns || refused === 0 || now - this.#cutAt < L.cutMs) return;
    this.#cutAt = now;
    this.#top = this.#rate;
    this.#rate = Math.max(L.leastRate, this.#rate * L.cut);
  }

  /** Adds what has become available since the last report, up to what may accumulate. */
  #refill({ returned, tokensPerCall, spentTokens, isAfresh, refused }: LedgerReport, now: number): void {
    const { requestsPerMinute, tokensPerMinute } = this.#rates();
    const mostRequests = Math.max(1, requestsPerMinute * L.savedRequests);
    const mostTokens = Math.max(1, tokensPerMinute * L.savedTokens);
    const passed = this.#at === undefined ? 60_000 : Math.max(0, now - this.#at);
    this.#at = Math.max(this.#at ?? now, now);
    this.#requests = Math.min(mostRequests, this.#requests + (passed * requestsPerMinute) / 60_000 + returned);
    this.#tokens = Math.min(mostTokens, this.#tokens + (passed * tokensPerMinute) / 60_000 + returned * tokensPerCall - spentTokens);
    if (isAfresh || refused > 0) this.#requests = Math.min(0, this.#requests);
  }

  #note({ process, waiting, inFlight, lent, parked, back, leaves }: LedgerReport, now: number): void {
    for (const [name, { until }] of this.#participants) if (until < now) this.#participants.delete(name);
    for (const call of back) this.#parked.delete(call);
    for (const { call, forMs } of parked) this.#parked.set(call, now + forMs + L.parkedSlackMs);
    if (leaves) {
      this.#participants.delete(process);
      return;
    }
    const groups = waiting.map((group) => ({ ...group, since: now - group.ageMs }));
    this.#participants.set(process, { until: now + L.forgetMs, inFlight, lent, groups });
  }

  /**
   * Gives permits in the order of service: the tenant that was served least, its lowest priority number, its oldest call. Permits for
   * calls of other processes are left for those.
   */
  #grant({ process, waiting }: LedgerReport, now: number): number[] {
    const granted = waiting.map(() => 0);
    const queues = this.#queues();
    const served = new Map([...queues.keys()].map((tenant) => [tenant, this.#servedBy(tenant, now)]));
    const least = Math.min(...[...served.values()].filter((amount) => amount !== undefined));
    const order = [...served].map(([tenant, amount]) => ({ tenant, amount: amount ?? (Number.isFinite(least) ? least : 0) }));
    order.sort((one, other) => (one.tenant < other.tenant ? -1 : one.tenant > other.tenant ? 1 : 0));
    let { requests, tokens, free } = this.#available();
    const { tokensPerMinute } = this.#rates();
    const mostTokens = Math.max(1, tokensPerMinute * L.savedTokens);
    for (let count = 0; count < L.mostGrants; count += 1) {
      const next = leastServed(order);
      const call = next && firstOf(queues.get(next.tenant) ?? []);
      if (next === undefined || call === undefined || requests < 1 || free < 1) break;
      if (tokens < Math.min(call.tokens, mostTokens)) break;
      requests -= 1;
      tokens -= call.tokens;
      free -= 1;
      next.amount += 1;
      call.left -= 1;
      if (call.process === process) {
        granted[call.index] = (granted[call.index] ?? 0) + 1;
        this.#requests -= 1;
        this.#tokens -= call.tokens;
        this.#served.set(next.tenant, { amount: (this.#servedBy(next.tenant, now) ?? firstAmount(least)) + 1, at: now });
      }
      if (queues.get(next.tenant)?.every(({ left }) => left === 0) !== false) order.splice(order.indexOf(next), 1);
    }
    for (const [tenant, { at }] of this.#served) if (at < now - L.creditMs) this.#served.delete(tenant);
    return granted;
  }

  #queues(): Map<string, Candidate[]> {
    const queues = new Map<string, Candidate[]>();
    for (const [process, { groups }] of this.#participants) {
      for (const [index, { tenant, priority, since, tokens, count }] of groups.entries()) {
        if (count < 1) continue;
        const queue = queues.get(tenant) ?? [];
        queue.push({ process, index, priority, since, tokens, left: count });
        queues.set(tenant, queue);
      }
    }
    return queues;
  }

  /** Returns a tenant's recent usage; undefined if unknown. */
  #servedBy(tenant: string, now: number): number | undefined {
    const known = this.#served.get(tenant);
    if (known === undefined || known.at < now - L.creditMs) return undefined;
    return known.amount * 2 ** -((now - known.at) / L.halfLifeMs);
  }

  #available(): { requests: number; tokens: number; free: number } {
    let used = 0;
    for (const { inFlight, lent } of this.#participants.values()) used += inFlight + lent;
    return { requests: this.#requests, tokens: this.#tokens, free: this.#limits.concurrency - used };
  }

  #lend({ process, wanted, tokensPerCall, leaves }: LedgerReport): number {
    if (leaves || wanted < 1) return 0;
    const { requests, tokens, free } = this.#available();
    const byTokens = Math.floor(tokens / Math.max(1, tokensPerCall));
    const lent = Math.max(0, Math.min(wanted, Math.floor(requests * L.lentPart), byTokens, Math.floor(free * L.lentPart)));
    this.#requests -= lent;
    this.#tokens -= lent * tokensPerCall;
    const participant = this.#participants.get(process);
    if (participant !== undefined) participant.lent += lent;
    return lent;
  }

  /** Removes the granted calls from the waiting ones. */
  #settle(process: string, granted: readonly number[]): void {
    const participant = this.#participants.get(process);
    if (participant === undefined) return;
    participant.inFlight += sum(granted);
    participant.groups = participant.groups.map((group, index) => ({ ...group, count: group.count - (granted[index] ?? 0) }));
  }

  #counts(): { tenants: number; waiting: Map<string, number>; all: number } {
    const waiting = new Map<string, number>();
    let all = 0;
    for (const { groups } of this.#participants.values()) {
      for (const { tenant, count } of groups) {
        waiting.set(tenant, (waiting.get(tenant) ?? 0) + count);
        all += count;
      }
    }
    return { tenants: [...waiting.values()].filter((count) => count > 0).length, waiting, all };
  }

  #parkedCounts(now: number): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [call, until] of this.#parked) {
      const tenant = call.slice(0, call.indexOf(' '));
      if (until < now) this.#parked.delete(call);
      else counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    }
    return counts;
  }
}

/** Returns the initial usage of an unknown tenant: like the tenant that was served least. */
function firstAmount(least: number): number {
  return Number.isFinite(least) ? least : 0;
}

function leastServed(order: readonly { tenant: string; amount: number }[]): { tenant: string; amount: number } | undefined {
  let best: { tenant: string; amount: number } | undefined;
  for (const one of order) if (best === undefined || one.amount < best.amount) best = one;
  return best;
}

/** Returns the first calls of a tenant: by priority, then by age, then by the name of their process. */
function firstOf(queue: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined;
  for (const one of queue) {
    if (one.left === 0) continue;
    if (best === undefined || comesBefore(one, best)) best = one;
  }
  return best;
}

function comesBefore(one: Candidate, other: Candidate): boolean {
  if (one.priority !== other.priority) return one.priority < other.priority;
  if (one.since !== other.since) return one.since < other.since;
  return one.process < other.process || (one.process === other.process && one.index < other.index);
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
