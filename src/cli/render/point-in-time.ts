/** Returns a time for people: ISO 8601 in UTC, to the second. Accepts milliseconds since the epoch, or ISO 8601. */
export function pointInTime(moment: number | string): string {
  return new Date(moment).toISOString().replace(/\.\d+Z$/, 'Z');
}
