/** The options of `session`. */
export interface SessionBenchOptions {
  command: 'session';
  messages: number;
  /** The length of an answer in characters. */
  resultChars: number;
  /** How long the session is left idle. */
  idleSeconds: number;
  quiet: boolean;
}

/** The options of `idle-sessions`. */
export interface IdleSessionsOptions {
  command: 'idle-sessions';
  sessions: number;
  /** Number of sessions that the worker caches. */
  cached: number;
  resultChars: number;
  quiet: boolean;
}
