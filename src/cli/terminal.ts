/** The part of an output stream that a command uses. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** The width of a terminal; undefined for other streams. */
  readonly columns?: number;
}

/** The streams of a terminal at which a person types. */
export interface InteractiveStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Everything that a command uses of its process, so that tests can replace it. */
export interface Terminal {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  /** Undefined if stdin or stdout is no terminal. */
  readonly interactive?: InteractiveStreams;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** The name of this program in commands to copy. Default `npx longhaul`. */
  readonly program?: string;
  /** Aborted with an `Interruption` on Ctrl-C, on SIGTERM, and when the reader of stdout has closed it. */
  readonly signal: AbortSignal;
}
