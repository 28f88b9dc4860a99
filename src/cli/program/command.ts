import type { Output } from '../output.ts';
import type { Terminal } from '../terminal.ts';

/** What every command takes. */
export interface ServerFlags {
  address?: string;
  namespace?: string;
  taskQueue?: string;
  /** What is encoded, as the user wrote it. */
  codec?: string;
  json?: boolean;
}

/** What a command works with. */
export interface CommandIo {
  terminal: Terminal;
  output: Output;
}

/** A command: does its work and returns the exit code. Errors that the user can do something about are thrown. */
export type CommandAction<Flags> = (io: CommandIo, flags: Flags) => Promise<number>;

/** Runs a command: its code, which may be heavy, is loaded only when it is called. */
export type RunCommand = <Flags extends ServerFlags>(load: () => Promise<CommandAction<Flags>>, flags: Flags) => Promise<void>;
