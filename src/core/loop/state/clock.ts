// Shared state: time and ids.

/** The ports for time and ids. In a workflow, both are deterministic. */
export interface RunClock {
  /** Milliseconds since the epoch. */
  now(): number;
  uuid(): string;
}
