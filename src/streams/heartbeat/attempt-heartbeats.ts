import type { StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import type { PublishingActivity } from '../stream-sink.ts';
import { RecentOutput } from './recent-output.ts';

/** The most calls whose output is kept. */
const MOST_CALLS = 5_000;
/** The time without output after which that of a call is forgotten: it has ended. */
const FORGET_MS = 120_000;

/** The newest attempt of a call. */
interface LiveCall {
  attempt: number;
  output: RecentOutput;
  activity: PublishingActivity;
  sentAt: number;
  usedAt: number;
  timer: NodeJS.Timeout | undefined;
}

/** Sends the recent output of live calls with their heartbeats, each at a bounded pace. */
export class AttemptHeartbeats {
  readonly #everyMs: number;
  /** The call that was used last is the last one. */
  readonly #calls = new Map<string, LiveCall>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  publish(runId: string, entry: Exclude<StreamEntry, { type: 'recorded' }>, activity: PublishingActivity): void {
    const call = this.#callOf(runId, entry, activity);
    if (entry.type === 'delta') call.output.add(entry.index, entry.delta);
    call.activity = activity;
    call.usedAt = performance.now();
    call.timer ??= setTimeout(() => send(call), Math.max(0, call.sentAt + this.#everyMs - call.usedAt)).unref();
  }

  /** Sends what waits, and forgets all calls. */
  close(): void {
    for (const call of this.#calls.values()) if (call.timer !== undefined) send(call);
    this.#calls.clear();
  }

  #callOf(runId: string, { of }: Exclude<StreamEntry, { type: 'recorded' }>, activity: PublishingActivity): LiveCall {
    const key = JSON.stringify([runId, of.executionId, of.eventId, of.callId]);
    const known = this.#calls.get(key);
    this.#calls.delete(key);
    if (known !== undefined && known.attempt !== of.attempt) clearTimeout(known.timer);
    const call =
      known?.attempt === of.attempt
        ? known
        : { attempt: of.attempt, output: new RecentOutput(of), activity, sentAt: known?.sentAt ?? -Infinity, usedAt: 0, timer: undefined };
    this.#calls.set(key, call);
    this.#forgetEnded();
    return call;
  }

  #forgetEnded(): void {
    const before = performance.now() - FORGET_MS;
    for (const [key, call] of this.#calls) {
      if (this.#calls.size <= MOST_CALLS && (call.usedAt >= before || call.usedAt === 0)) return;
      clearTimeout(call.timer);
      this.#calls.delete(key);
    }
  }
}

function send(call: LiveCall): void {
  clearTimeout(call.timer);
  call.timer = undefined;
  call.sentAt = performance.now();
  try {
    call.activity.heartbeat(call.output.output);
  } catch {
    // The attempt may have ended meanwhile: its result holds everything.
  }
}
