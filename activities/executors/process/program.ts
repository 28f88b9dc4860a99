import type { JsonObject } from '../../../src/core/domain/json/json.ts';
import type { ExecutionError } from '../../../src/core/execution/execution-result.ts';

/** A program that runs code, as the worker starts it for each namespace. */
export interface Program {
  file: string;
  args: readonly string[];
  /** The variables of its environment. */
  env: Readonly<Record<string, string>>;
  /** The folder that it is started in. Without one: that of the worker. */
  cwd?: string;
  /** The user and the group that it runs as. Without one: that of the worker. */
  user?: number | undefined;
  /** Bytes that it can read from its file descriptor 3. */
  extraInput?: Uint8Array;
  /** Settings besides those that all programs get. */
  settings?: JsonObject;
  /** What its exit codes mean, beyond that it ended by itself. That its time was up is believed if it was. */
  exits?: Readonly<Record<number, ExecutionError>>;
  /** Absent: the memory of the code is what the program reports. */
  memory?: ProgramMemory;
}

/** How the worker itself reads the memory of the code. */
export interface ProgramMemory {
  /** Reads bytes by what the program wrote to its file descriptor 4; undefined if they cannot be told. */
  read: (info: string) => number | undefined;
}
