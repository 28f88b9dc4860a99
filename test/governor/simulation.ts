import { vi } from 'vitest';
import type { Ledger } from '../../src/governor/ledger.ts';
import type { ProviderLimits } from '../../src/governor/limits.ts';
import { ProviderPermits } from '../../src/governor/provider-permits.ts';

/** A call of a simulation. Times are in milliseconds since its beginning. */
export interface PlannedCall {
  tenant: string;
  at: number;
  priority?: number;
  /** How long the provider takes for it. */
  lastsMs?: number;
  tokens?: number;
  /** If it is parked, it never comes back: its run was cancelled. */
  isCancelled?: boolean;
  /** The provider refuses it once, and asks for this wait. */
  refusedForMs?: number;
}

export interface SimulationOptions {
  limits: ProviderLimits;
  processes: number;
  /** The ledger of each process. */
  ledger: (index: number) => Ledger;
  calls: readonly PlannedCall[];
  /** Resolves when no answer of a ledger is outstanding. Default: at once, for ledgers in memory. */
  settled?: () => Promise<void>;
  /** Events of the simulation that are not calls. */
  events?: readonly { at: number; happens: () => void | Promise<void> }[];
  seed?: number;
}

/** What happened to a call. */
export interface SimulatedCall {
  tenant: string;
  at: number;
  priority: number;
  /** When it got its permit; Infinity if it was cancelled. */
  servedAt: number;
  endedAt: number;
  /** How often it began to wait. */
  attempts: number;
  isRefused: boolean;
  /** How long it held a slot of a worker without a permit. */
  heldMs: number;
}

/** The time between the delay of a parked call and its next attempt. */
const LATENCY_MS = { least: 10, most: 250 };

/** How long a call may hold a slot, as in a worker. */
const SLOT = ({ holdSlotMs }: ProviderLimits) => ({
  holdMs: holdSlotMs,
  backMs: holdSlotMs / 2,
  nextHoldMs: Math.max(holdSlotMs, 120_000),
});

const NO_METER = { granted: () => undefined, refused: () => undefined, held: () => undefined };

/** Runs calls of several processes with the time of `vi.useFakeTimers`, the way in which the server retries parked ones. */
export async function simulate(options: SimulationOptions): Promise<SimulatedCall[]> {
  const { limits, processes, calls, events = [], seed = 1, settled = () => Promise.resolve() } = options;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    const random = randomNumbers(seed);
    vi.spyOn(Math, 'random').mockImplementation(randomNumbers(seed + 1));
    const began = performance.now();
    const permits = Array.from({ length: processes }, (_, index) => new ProviderPermits(limits, options.ledger(index), NO_METER));
    const { signal } = new AbortController();
    const open = new Set<SimulatedCall>();
    const attempt = async (call: PlannedCall, result: SimulatedCall, name: string): Promise<void> => {
      const process = permits[Math.floor(random() * processes)]!;
      const startedAt = performance.now();
      const { tenant, priority = 3, tokens = 0, lastsMs = 500, isCancelled = false, refusedForMs = 0 } = call;
      const request = { call: name, tenant, priority, since: call.at, isBack: result.attempts > 0, tokens };
      result.attempts += 1;
      const granted = await process.acquire(request, { ...SLOT(limits), signal });
      result.heldMs += performance.now() - startedAt;
      if (granted.type === 'permit' && refusedForMs > 0 && !result.isRefused) {
        result.isRefused = true;
        granted.permit.refused(refusedForMs);
        setTimeout(() => void attempt(call, result, name), refusedForMs);
        return;
      }
      if (granted.type === 'permit') {
        result.servedAt = performance.now() - began;
        result.endedAt = result.servedAt + lastsMs;
        open.delete(result);
        setTimeout(() => granted.permit.settle(tokens === 0 ? undefined : tokens + 500), lastsMs);
        return;
      }
      process.park(request, granted.awayMs);
      if (isCancelled) {
        open.delete(result);
        return;
      }
      const latencyMs = LATENCY_MS.least + random() * (LATENCY_MS.most - LATENCY_MS.least);
      setTimeout(() => void attempt(call, result, name), granted.awayMs + latencyMs);
    };
    const results = calls.map((call, index) => {
      const result: SimulatedCall = {
        tenant: call.tenant,
        at: call.at,
        priority: call.priority ?? 3,
        servedAt: Infinity,
        endedAt: Infinity,
        attempts: 0,
        isRefused: false,
        heldMs: 0,
      };
      open.add(result);
      setTimeout(() => void attempt(call, result, `c${index}`), call.at);
      return result;
    });
    let happening = Promise.resolve();
    for (const { at, happens } of events) setTimeout(() => void (happening = Promise.resolve(happens())), at);
    for (let step = 0; open.size > 0; step += 1) {
      if (step > 2_000_000) throw new Error(`${open.size} calls are never served`);
      await vi.advanceTimersToNextTimerAsync();
      await happening;
      await settled();
    }
    return results;
  } finally {
    vi.restoreAllMocks();
    vi.useRealTimers();
  }
}

/** The time after which every process has reported a new call: until then, permits that were saved up may go to others. */
const KNOWN_MS = 150;

/** Returns the most by which the permits of two tenants differ, over all spans of time in which both have calls that are not served. */
export function unfairness(calls: readonly SimulatedCall[], one: string, other: string): number {
  const changes = calls
    .filter(({ tenant, at, servedAt }) => (tenant === one || tenant === other) && servedAt > at + KNOWN_MS)
    .flatMap(({ tenant, at, servedAt }) => [
      { tenant, at: at + KNOWN_MS, open: 1 },
      { tenant, at: servedAt, open: -1 },
    ])
    .toSorted((first, second) => first.at - second.at || second.open - first.open);
  const open = new Map<string, number>();
  let [difference, least, most, worst] = [0, 0, 0, 0];
  for (const change of changes) {
    const wereBothOpen = (open.get(one) ?? 0) > 0 && (open.get(other) ?? 0) > 0;
    open.set(change.tenant, (open.get(change.tenant) ?? 0) + change.open);
    if (!wereBothOpen) [difference, least, most] = [0, 0, 0];
    else if (change.open < 0) difference += change.tenant === one ? 1 : -1;
    least = Math.min(least, difference);
    most = Math.max(most, difference);
    worst = Math.max(worst, most - least);
  }
  return worst;
}

/** Returns the most unfairness between any two tenants. */
export function worstUnfairness(calls: readonly SimulatedCall[]): number {
  const tenants = [...new Set(calls.map(({ tenant }) => tenant))];
  let worst = 0;
  for (const [index, one] of tenants.entries()) {
    for (const other of tenants.slice(index + 1)) worst = Math.max(worst, unfairness(calls, one, other));
  }
  return worst;
}

/** Returns numbers from 0 to 1 that are the same for each seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns the part of the concurrent calls that were not made while others waited or were parked. */
export function unusedSlots(calls: readonly SimulatedCall[], concurrency: number): number {
  const changes = calls
    .flatMap(({ servedAt, endedAt }) => [
      { at: servedAt, made: 1 },
      { at: endedAt, made: -1 },
    ])
    .toSorted((one, other) => one.at - other.at);
  const end = Math.max(...calls.map(({ servedAt }) => servedAt));
  let [made, last, unused] = [0, Math.min(...calls.map(({ at }) => at)), 0];
  for (const change of changes) {
    const at = Math.min(change.at, end);
    unused += (at - last) * (concurrency - made);
    last = at;
    made += change.made;
  }
  return unused / (end * concurrency);
}
