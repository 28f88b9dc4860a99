/** A request to interrupt the current turn. */
export interface TurnInterrupt {
  /** The number of the turn. */
  turn: number;
  cancelReason?: string;
}

/** A request to close a session. */
export interface CloseRequest {
  /** The caller's name, as claimed and not verified. */
  by: string | null;
}

/** Argument of the Update `interrupt`. */
export interface InterruptInput {
  /** Interrupts only this turn. Default: the current one. */
  turn?: number;
  reason?: string;
  by?: string;
}

/** Answer of the Update `interrupt`. */
export interface InterruptReceipt {
  version: 1;
  /** False if no such turn is running: there is nothing to interrupt. */
  interrupted: boolean;
  /** The number of the turn. */
  turn?: number;
}

/** Argument of the Update `close`. */
export interface CloseInput {
  by?: string;
}

/** Answer of the Update `close`. */
export interface CloseReceipt {
  version: 1;
  /** The number of the current turn: the session closes after it. Absent if the session was idle. */
  turn?: number;
}

/** Answer of the Update `refresh`. */
export interface RefreshReceipt {
  version: 1;
  /** The number of the turn before which the agent is resolved again. */
  beforeTurn: number;
}

/** Answer of the Update `reset`. */
export interface ResetReceipt {
  version: 1;
  /** The number of the turn that begins with an empty conversation. */
  beforeTurn: number;
}
