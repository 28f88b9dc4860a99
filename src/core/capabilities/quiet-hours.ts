import type { QuietHours } from '../domain/agent.ts';
import type { Capability } from '../kernel/capability.ts';

// Capability: hours of the night in which no call that communicates starts.

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * Returns the end of the quiet hours that a moment is in; undefined outside of them. All in milliseconds since the epoch. It goes from one
 * change of the offset to the next, so that the clock of the wall decides on the days on which it is put forward or back, too.
 */
export function quietUntil({ from, to, offsets }: QuietHours, now: number): number | undefined {
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

/** Hours in which calls of tools of the category `communicate` wait for the morning. It keeps nothing: the time decides. */
export const quietHours: Capability = {
  name: 'quietHours',
  postpones({ snapshot }, now, { tool }) {
    if (snapshot.quietHours === undefined || tool.category !== 'communicate') return undefined;
    const at = quietUntil(snapshot.quietHours, now);
    return at === undefined
      ? undefined
      : { at, summary: `quiet hours until ${clock(snapshot.quietHours.to)} (${snapshot.quietHours.zone})` };
  },
};

/** Returns minutes after midnight as they are written, such as `07:00`. */
function clock(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
