/** Returns a time of the workflow's clock, in milliseconds since the epoch, as people and other programs read it: ISO 8601 in UTC. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns the seconds since the epoch of a time in ISO 8601. */
export function secondsOf(time: string): number {
  return Date.parse(time) / 1000;
}

/** Returns the seconds between two times in ISO 8601. */
export function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}
