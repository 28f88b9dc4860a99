/** Returns the time in milliseconds since the epoch, with fractions, so that times of two processes can be compared. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
