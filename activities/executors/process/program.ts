import type { JsonObject } from '../../../src/core/domain/json/json.ts';

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
  /** The exit code by which it says that it ran out of memory. */
  outOfMemoryCode?: number;
}
