import { canonicalJson } from '../domain/json.ts';
import { MOST_QUIET_HOURS, QUIET_HOURS, type QuietHours } from '../domain/quiet-hours.ts';
import { parentOf } from '../domain/run-input.ts';
import { listOf } from '../domain/shape.ts';
import type { WaitDeadline } from '../domain/time.ts';
import type { Capability } from '../kernel/capability.ts';
import { type RunState, slice } from '../kernel/run-state.ts';

// Capability: hours of the night during which no communicating call starts.

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * Returns the end of the quiet hours that contain a moment, or undefined outside of them. All in milliseconds since the epoch. Goes from
 * one change of the UTC offset to the next, so that local time also decides on the days when clocks change.
 */
export function quietUntil({ from, to, offsets }: QuietHours, now: number): number | undefined {
  if (from === to) return undefined;
  let at = now;
  for (;;) {
    const index = offsets.findLastIndex(({ since }) => since <= at);
    const { minutes } = offsets[Math.max(0, index)] ?? { minutes: 0 };
    const time = (at + minutes * MINUTE) % DAY;
    const [begin, end] = [from * MINUTE, to * MINUTE];
    const isQuiet = begin < end ? begin <= time && time < end : begin <= time || time < end;
    if (!isQuiet) return at === now ? undefined : at;
    at = Math.min(at + ((end - time + DAY) % DAY), offsets[index + 1]?.since ?? Infinity);
  }
}

/** The quiet hours of the agents that have acted in the run: they apply until its end, whichever agent acts. */
const acted = slice<QuietHours[]>('quietHours', listOf(QUIET_HOURS), {
  initial: ({ quietHours: hours }) => (hours === undefined ? undefined : [hours]),
});

/** Returns all quiet hours that apply to a run: of the agents that have acted in it and of its ancestors, each once. */
function holdingFor(state: Pick<RunState, 'snapshot' | 'slices'>): QuietHours[] {
  const { quietHours: own } = state.snapshot;
  return eachOnce([...(own === undefined ? [] : [own]), ...(acted.of(state) ?? []), ...(parentOf(state)?.quietHours ?? [])]);
}

function eachOnce(all: readonly QuietHours[]): QuietHours[] {
  return all.filter((one, index) => all.findIndex((other) => canonicalJson(other) === canonicalJson(one)) === index);
}

/** Returns the latest end of the quiet hours that contain a moment, or undefined outside of all of them. */
function latestEnd(all: readonly QuietHours[], now: number): WaitDeadline | undefined {
  let latest: WaitDeadline | undefined;
  for (const hours of all) {
    const at = quietUntil(hours, now);
    if (at === undefined || at <= (latest?.at ?? now)) continue;
    latest = { at, summary: `quiet hours until ${clock(hours.to)} (${hours.zone})` };
  }
  return latest;
}

/** Hours during which calls of tools in the category `communicate` are postponed to the morning. */
export const quietHours: Capability = {
  name: 'quietHours',
  slices: [acted],
  postpones: (state, now, { tool }) => (tool.category === 'communicate' ? latestEnd(holdingFor(state), now) : undefined),
  agentSwitched(state) {
    const { quietHours: hours } = state.snapshot;
    // An agent that acts repeatedly must not displace another agent's quiet hours.
    if (hours !== undefined) acted.set(state, eachOnce([...(acted.of(state) ?? []), hours]).slice(-MOST_QUIET_HOURS));
  },
  agentRefreshed(state, { quietHours: before }) {
    // The quiet hours of the previous version of the agent no longer apply.
    const { quietHours: now } = state.snapshot;
    const others = (acted.of(state) ?? []).filter((one) => canonicalJson(one) !== canonicalJson(before ?? null));
    const left = now === undefined ? others : eachOnce([...others, now]);
    if (left.length === 0) acted.clear(state);
    else acted.set(state, left);
  },
  passesOn(state) {
    const all = holdingFor(state);
    return all.length === 0 ? {} : { quietHours: all.slice(0, MOST_QUIET_HOURS) };
  },
};

/** Formats minutes after midnight as a time such as `07:00`. */
function clock(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
