/** The width of a time with three decimals that fits every uptime of a machine. */
const TIME_DIGITS = 16;

/**
 * Returns milliseconds, with fractions, by the monotonic clock of the machine. All processes on it share that clock: times that two of
 * them took can be subtracted. The epoch of a process (`performance.timeOrigin`) is read from the wall clock when the process starts,
 * and differs by milliseconds between two that started apart.
 */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Returns a time as text, always of the same length. */
export function timeText(time: number): string {
  return time.toFixed(3).padStart(TIME_DIGITS, '0');
}
