/** The size of one execution at which a run continues as new. It also does so when the server suggests it. */
export interface ContinueAsNewThresholds {
  /** Number of history events. */
  events: number;
  /** Bytes of history. */
  bytes: number;
  /** Number of Updates that one execution accepts. */
  updates: number;
}

/**
 * The default thresholds. They are below those of the server (4,096 events, 4 MiB, 1,800 Updates), so that a step that has begun
 * still fits.
 */
export const DEFAULT_THRESHOLDS: ContinueAsNewThresholds = { events: 3_600, bytes: 3_400_000, updates: 1_000 };
