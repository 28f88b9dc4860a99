import { LEDGER as L, type Ledger, type LedgerAnswer, type LedgerReport, type PlacedCall, type WaitingGroup } from './ledger.ts';
import { NO_LIMIT, type ProviderLimits } from './limits.ts';

/** The limits that a ledger keeps. */
export type KeptLimits = Pick<ProviderLimits, 'requestsPerMinute' | 'tokensPerMinute' | 'concurrency'>;

interface Participant {
  until: number;
  inFlight: number;
  lent: number;
  callMs: number;
  groups: readonly WaitingGroup[];
  /** The permits that it has got since its report, by tenant: their calls may still have places. */
  granted: ReadonlyMap<string, number>;
}

/** A call with a place, until the time when that is forgotten. */
interface NotedCall extends PlacedCall {
  until: number;
}

/** A tenant with waiting or parked calls. */
interface Tenant {
  /** Its recent usage; undefined if unknown. */
  amount: number | undefined;
  calls: number;
}

/** All tenants with waiting or parked calls. If there are very many, those with parked calls only are counted together. */
interface Backlog {
  tenants: Map<string, Tenant>;
  others: { tenants: number; calls: number };
  /** The least usage of a tenant. */
  least: number | undefined;
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
  /** The calls with places, by tenant. */
  readonly #placed = new Map<string, Map<string, NotedCall>>();
  #at: number | undefined;
  #requests = 0;
  #tokens = 0;
  #rate = 1;
  #top = 1;
  #cutAt = -Infinity;
  #holdUntil = 0;
  #headerRequests = NO_LIMIT;
  #headerTokens = NO_LIMIT;
  #callMs: number = L.callMs;

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
    this.#forget(now);
    this.#note(report, now);
    this.#register(report, now);
    const { requestsPerMinute, tokensPerMinute } = this.#rates();
    const granted = now < this.#holdUntil ? report.waiting.map(() => 0) : this.#grant(report, now);
    this.#settle(report.process, granted);
    const { calls: allWaiting, tokens } = this.#waiting();
    const isIdle = allWaiting === 0 && this.#placed.size === 0;
    const lent = now >= this.#holdUntil && isIdle ? this.#lend(report) : 0;
    return {
      granted,
      lent,
      holdMs: Math.max(0, Math.ceil(this.#holdUntil - now)),
      requestsPerMinute,
      tokensPerMinute,
      workers: Math.max(1, this.#participants.size),
      allWaiting,
      ...this.#pace(allWaiting > 0 ? tokens / allWaiting : report.tokensPerCall, now),
      ahead: this.#ahead(report, now),
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
    const mostRequests = Math.max(1 + requestsPerMinute * L.betweenReports, requestsPerMinute * L.savedRequests);
    const mostTokens = this.#savedTokens() + tokensPerMinute * L.betweenReports;
    const passed = this.#at === undefined ? 60_000 : Math.max(0, now - this.#at);
    this.#at = Math.max(this.#at ?? now, now);
    this.#requests = Math.min(mostRequests, this.#requests + (passed * requestsPerMinute) / 60_000 + returned);
    this.#tokens = Math.min(mostTokens, this.#tokens + (passed * tokensPerMinute) / 60_000 + returned * tokensPerCall - spentTokens);
    if (isAfresh || refused > 0) this.#requests = Math.min(0, this.#requests);
  }

  /** Forgets processes that no longer report, calls that have not come back, and old usage of tenants without calls. */
  #forget(now: number): void {
    for (const [name, { until }] of this.#participants) if (until < now) this.#participants.delete(name);
    for (const calls of this.#placed.values()) for (const { call, until } of calls.values()) if (until < now) this.#remove(call);
    const waiting = new Set([...this.#participants.values()].flatMap(({ groups }) => groups.map(({ tenant }) => tenant)));
    for (const [tenant, { at }] of this.#served) {
      if (at >= now - L.creditMs) continue;
      if (!waiting.has(tenant) && !this.#placed.has(tenant)) this.#served.delete(tenant);
      else this.#served.set(tenant, { amount: this.#servedBy(tenant, now) ?? 0, at: now });
    }
  }

  #place(placed: PlacedCall, until: number): void {
    const tenant = tenantOf(placed.call);
    const calls = this.#placed.get(tenant) ?? new Map<string, NotedCall>();
    this.#placed.set(tenant, calls);
    calls.set(placed.call, { ...placed, until });
  }

  #remove(call: string): void {
    const tenant = tenantOf(call);
    const calls = this.#placed.get(tenant);
    calls?.delete(call);
    if (calls?.size === 0) this.#placed.delete(tenant);
  }

  #note({ process, waiting, inFlight, lent, callMs, places, parked, gone, leaves }: LedgerReport, now: number): void {
    for (const call of gone) this.#remove(call);
    for (const { forMs, ...call } of parked) this.#place(call, now + forMs + L.parkedSlackMs);
    for (const call of places) this.#place(call, now + L.placeMs);
    if (leaves) {
      this.#participants.delete(process);
      return;
    }
    this.#participants.set(process, { until: now + L.forgetMs, inFlight, lent, callMs, groups: waiting, granted: new Map() });
  }

  /** Records the usage with which new tenants begin. It must not change while they wait, or others would always be served first. */
  #register({ waiting, leaves }: LedgerReport, now: number): void {
    if (leaves) return;
    const unknown = waiting.filter(({ tenant }) => !this.#served.has(tenant));
    if (unknown.length === 0) return;
    const { least } = this.#backlog(now);
    const amount = least === undefined ? 0 : least + L.newcomer;
    for (const { tenant } of unknown) this.#served.set(tenant, { amount, at: now });
  }

  #backlog(now: number): Backlog {
    const counts = new Map<string, number>();
    for (const { groups } of this.#participants.values()) {
      for (const { tenant, count } of groups) if (count > 0) counts.set(tenant, (counts.get(tenant) ?? 0) + count);
    }
    const others = { tenants: 0, calls: 0 };
    const areMany = this.#placed.size > L.mostTenants;
    for (const [tenant, { size }] of this.#placed) {
      if (areMany && !counts.has(tenant)) {
        others.tenants += 1;
        others.calls += size;
        continue;
      }
      const calls = size - this.#settling(tenant);
      if (calls > 0) counts.set(tenant, Math.max(counts.get(tenant) ?? 0, calls));
    }
    const tenants = new Map([...counts].map(([tenant, calls]) => [tenant, { amount: this.#servedBy(tenant, now), calls }]));
    let least: number | undefined;
    for (const { amount } of tenants.values()) if (amount !== undefined && (least === undefined || amount < least)) least = amount;
    return { tenants, others, least };
  }

  /**
   * Gives permits in the order of service: the tenant that was served least, its lowest priority number, its oldest call. Permits for
   * calls of other processes are left for those.
   */
  #grant({ process, waiting }: LedgerReport, now: number): number[] {
    const granted = waiting.map(() => 0);
    const queues = this.#queues();
    const known = [...queues.keys()].map((tenant) => ({ tenant, amount: this.#servedBy(tenant, now) }));
    const least = Math.min(...known.flatMap(({ amount }) => amount ?? []));
    const order = known.map(({ tenant, amount }) => ({ tenant, amount: amount ?? firstAmount(least) }));
    order.sort((one, other) => (one.tenant < other.tenant ? -1 : one.tenant > other.tenant ? 1 : 0));
    let { requests, tokens, free } = this.#available();
    const mostTokens = this.#savedTokens();
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
    return granted;
  }

  /** The tokens that may be saved up: a call that needs more gets its permit then. */
  #savedTokens(): number {
    return Math.max(1, this.#rates().tokensPerMinute * L.savedTokens);
  }

  /** Returns when there will be permits for calls of so many tokens. */
  #pace(tokensPerCall: number, now: number): Pick<LedgerAnswer, 'nextMs' | 'permitMs' | 'varies'> {
    const { requestsPerMinute, tokensPerMinute } = this.#rates();
    const { requests, tokens, free } = this.#available();
    this.#callMs = this.#meanCallMs();
    const requestMs = 60_000 / requestsPerMinute;
    const tokenMs = 60_000 / tokensPerMinute;
    const slotMs = this.#callMs / this.#limits.concurrency;
    const permitMs = Math.max(requestMs, tokenMs * tokensPerCall, slotMs);
    const lacked = Math.min(tokensPerCall, this.#savedTokens()) - tokens;
    const nextMs = Math.max(0, this.#holdUntil - now, (1 - requests) * requestMs, lacked * tokenMs, free < 1 ? slotMs : 0);
    return { nextMs: Math.ceil(nextMs), permitMs, varies: permitMs > requestMs };
  }

  /** Returns how many calls of a tenant have got permits while they still have places. */
  #settling(tenant: string): number {
    let count = 0;
    for (const { granted } of this.#participants.values()) count += granted.get(tenant) ?? 0;
    return count;
  }

  #meanCallMs(): number {
    let [total, weights] = [0, 0];
    for (const { callMs, inFlight } of this.#participants.values()) {
      if (callMs <= 0) continue;
      total += callMs * (inFlight + 1);
      weights += inFlight + 1;
    }
    return weights > 0 ? total / weights : this.#callMs;
  }

  /** Returns for each place of a report how many permits go to other calls first, if parked calls come back before their turn. */
  #ahead({ places }: LedgerReport, now: number): number[] {
    if (places.length === 0) return [];
    const { tenants, others, least = 0 } = this.#backlog(now);
    return places.map((place) => {
      const tenant = tenantOf(place.call);
      const own = Math.max(0, this.#placesBefore(place) - this.#settling(tenant));
      const level = (tenants.get(tenant)?.amount ?? this.#servedBy(tenant, now) ?? least) + own;
      let ahead = own + Math.min(others.calls, others.tenants * turnsUntil(level, least, false));
      for (const [name, { amount = least, calls }] of tenants) {
        if (name !== tenant) ahead += Math.min(calls, turnsUntil(level, amount, name < tenant));
      }
      return ahead;
    });
  }

  #placesBefore({ call, priority, since }: PlacedCall): number {
    let count = 0;
    for (const placed of this.#placed.get(tenantOf(call))?.values() ?? []) {
      if (placed.priority !== priority) count += placed.priority < priority ? 1 : 0;
      else if (placed.since !== since) count += placed.since < since ? 1 : 0;
      else count += placed.call < call ? 1 : 0;
    }
    return count;
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
    if (known === undefined) return undefined;
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
    const byTenant = new Map<string, number>();
    for (const [index, { tenant }] of participant.groups.entries()) {
      byTenant.set(tenant, (byTenant.get(tenant) ?? 0) + (granted[index] ?? 0));
    }
    participant.granted = byTenant;
    participant.groups = participant.groups.map((group, index) => ({ ...group, count: group.count - (granted[index] ?? 0) }));
  }

  #waiting(): { calls: number; tokens: number } {
    let [calls, all] = [0, 0];
    for (const { groups } of this.#participants.values()) {
      for (const { count, tokens } of groups) {
        calls += count;
        all += count * tokens;
      }
    }
    return { calls, tokens: all };
  }
}

/** Returns how many permits a tenant gets before another one reaches a level of usage. */
function turnsUntil(level: number, amount: number, isFirst: boolean): number {
  return Math.max(0, isFirst ? Math.floor(level - amount) + 1 : Math.ceil(level - amount));
}

function tenantOf(call: string): string {
  return call.slice(0, call.indexOf(' '));
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
