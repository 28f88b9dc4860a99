// Shared state: time and ids.

/** Time and ids: the ports that recording needs. In a workflow both are deterministic. */
export interface RunClock {
  /** Milliseconds since the epoch. */
  now(): number;
  uuid(): string;
}
