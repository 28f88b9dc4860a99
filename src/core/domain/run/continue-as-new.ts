/** When a run continues as new, at the latest: what one execution may hold. What the server suggests comes on top. */
export interface ContinueAsNewThresholds {
  /** Events of history. */
  events: number;
  /** Bytes of history. */
  bytes: number;
  /** Updates that one execution accepts. */
  updates: number;
}

/** Below what the server suggests (4,096 events, 4 MiB, 1,800 Updates), so that a step that has begun still fits. */
export const DEFAULT_THRESHOLDS: ContinueAsNewThresholds = { events: 3_600, bytes: 3_400_000, updates: 1_000 };
