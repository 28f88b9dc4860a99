/** Where a command writes: the part of a stream that is needed. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** Of a terminal. */
  readonly columns?: number;
}

/** Everything of the process that a command touches, so that tests can stand in for it. */
export interface Terminal {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** How commands to copy call this program. Default `npx longhaul`. */
  readonly program?: string;
  /** Aborted with an `Interruption`: at Ctrl-C, at SIGTERM, and when nobody reads stdout any more. */
  readonly signal: AbortSignal;
}
