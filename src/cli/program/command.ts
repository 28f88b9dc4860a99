import type { Output } from '../output.ts';
import type { Terminal } from '../terminal.ts';

/** The options that every command has. */
export interface ServerFlags {
  address?: string;
  namespace?: string;
  taskQueue?: string;
  /** The codec as the user wrote it. */
  codec?: string;
  /** Whom the command acts for. */
  tenant?: string;
  user?: string;
  json?: boolean;
}

/** The terminal and the output of a command. */
export interface CommandIo {
  terminal: Terminal;
  output: Output;
}

/** A command: does its work and returns the exit code. Throws errors that the user can act on. */
export type CommandAction<Flags> = (io: CommandIo, flags: Flags) => Promise<number>;

/** Runs a command. Its code, which may be large, is loaded only when it is called. */
export type RunCommand = <Flags extends ServerFlags>(load: () => Promise<CommandAction<Flags>>, flags: Flags) => Promise<void>;
