import type { JsonObject, JsonValue } from '../domain/json/json.ts';
import type { ExecutionResult } from './execution-result.ts';

/** The clock and the randomness of one run: the same code with the same moment sees the same time and the same numbers. */
export interface Moment {
  /** Milliseconds since 1970 that the clock shows during the whole run. */
  readonly now: number;
  /** A whole number from which all random numbers of the run are made. */
  readonly seed: number;
}

/** A tool that code may call by its name. */
export interface CodeTool {
  readonly name: string;
  /** The names of its parameters, in the order of arguments that are given by position. */
  readonly parameters: readonly string[];
}

/** A call of a tool in code. */
export interface CodeCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** The outcome of a call for the code: the value that it returns, or the message of the error that it throws. */
export type CodeCallResult = { readonly value: JsonValue } | { readonly error: string };

/** The part of a run up to its end, or up to the point at which it needs the results of calls. */
export type Segment =
  /** `output` is the text that this segment printed. All calls are pending together. */
  | {
      readonly type: 'calls';
      readonly calls: readonly CodeCall[];
      readonly output: string;
      readonly durationMs: number;
      /** Bytes that the values of the code take, if the executor can tell. */
      readonly memoryUsedBytes?: number;
    }
  /** The output of the result is that of the whole run. */
  | { readonly type: 'ended'; readonly result: ExecutionResult; readonly durationMs: number };

/**
 * Runs code that a model wrote. Names that a run declares are there for the next one. A run that was killed, or that used up its
 * time or memory, leaves no state that could be relied on: all names are lost, and the next run, which begins with an empty
 * namespace, says so in `emptiedBy`.
 */
export interface Executor {
  /** Runs code that calls no tools. Never rejects for anything that the code does. Throws a `UsageError` while other code runs. */
  run(code: string, moment: Moment): Promise<ExecutionResult>;
  /** Runs code up to the first calls of tools, or to its end. Never rejects for anything that the code does. */
  begin(code: string, moment: Moment): Promise<Segment>;
  /** Goes on with a run that waits for calls: `results` has one entry for each of them, in their order. */
  resume(results: readonly CodeCallResult[]): Promise<Segment>;
  /** Ends the run in progress, at once. Without one, it changes nothing. */
  kill(): Promise<void>;
  /** Sets a name from the next run on. Throws a `UsageError` for a value that is not JSON. */
  inject(name: string, value: JsonValue): void;
  /** Forgets all names. The next run starts anew. */
  reset(): Promise<void>;
  /** Ends what runs, and frees everything that the executor holds. It cannot be used again. */
  close(): Promise<void>;
  /** Returns all names and values between two runs as bytes that `restore` takes. Absent: the executor cannot do that. */
  checkpoint?(): Promise<Uint8Array>;
  /** Replaces all names and values by those of a checkpoint of an executor of the same version, tools and limits. */
  restore?(checkpoint: Uint8Array): Promise<void>;
}
