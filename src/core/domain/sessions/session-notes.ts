import type { StopReason, TerminalStatus } from '../run/status.ts';

/** The outcome of resolving the agent of a session again, as an event of the record: its new digest, or why the agent stays as it was. */
export type RefreshNote = { digest: string } | { failed: { code: string; message: string } };

/** The end of a turn, as an event of the record. The answer is in the event before. */
export interface TurnNote {
  /** 1-based. */
  number: number;
  status: TerminalStatus;
  stopReason: StopReason;
  error?: string;
  /** The ids of accepted messages that the next turn answers. Absent if there are none. */
  unanswered?: string[];
}
