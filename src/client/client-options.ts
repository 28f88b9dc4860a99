import { LonghaulError } from '../core/domain/errors.ts';
import { defined, type JsonObject } from '../core/domain/json.ts';
import type { Principal } from '../core/domain/run.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import type { ExecutionTrace } from '../core/domain/trace.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import type { OptionTable } from '../define/option-checks.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { ArchiveSink } from '../stores/file-archive.ts';
import type { PayloadStore } from '../stores/payload-store.ts';
import type { StreamSink } from '../streams/stream-sink.ts';
import type { WaitOptions } from '../temporal/waiting.ts';

/** The options of a client. */
export interface LonghaulClientOptions {
  /** The task queue of runs that do not name one. Default `longhaul`. */
  taskQueue?: string;
  /** The agents that exist, if the caller knows them: a start with any other name is refused before it is sent. */
  agents?: readonly AnyAgent[];
  /** The store of results that are too large for the conversation: the same as in the workers. */
  payloadStore?: PayloadStore;
  /** The archive to which workers write the records of runs. */
  archive?: ArchiveSink;
  /** The memory of the workers: `forget` removes the entries of the user from it, and `exportUser` reads them. */
  memory?: MemoryStore;
  /**
   * The key that hashes users (HMAC-SHA-256) in the search attribute `LonghaulUser`, which is in clear text otherwise: the same
   * for all clients of the namespace.
   */
  userKey?: string;
  /** The identity on whose behalf the client acts: it can access only runs of that principal. Default: all runs. See `as`. */
  principal?: Principal;
  /** Carries live output from the workers to this client: the same sink as in the workers. Default: streams show only the record. */
  streams?: StreamSink;
  /** Receives notices for the person who waits, for example that no worker polls. Default: a process warning. */
  onNotice?: (line: string) => void;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
export const CLIENT_OPTIONS: OptionTable<LonghaulClientOptions> = {
  taskQueue: true,
  agents: true,
  payloadStore: true,
  archive: true,
  memory: true,
  userKey: true,
  principal: true,
  streams: true,
  onNotice: true,
};

/** The sort orders of a list of runs. */
export const RUN_SORTS = ['started', 'duration', 'tokens', 'cost'] as const;
/** An order of a list of runs: by their starts, or by what they have used. @useDeclaredType */
export type RunSort = (typeof RUN_SORTS)[number];

/** What a start does if its run id is taken. */
export const IF_EXISTS = ['fail', 'return', 'restartFailed'] as const;

/** One of `IF_EXISTS`. @useDeclaredType */
export type IfExists = (typeof IF_EXISTS)[number];

/** Returns the option if it is valid. Throws `invalid_input`. */
export function checkIfExists(value: unknown): IfExists {
  const choice = value === undefined ? 'fail' : IF_EXISTS.find((one) => one === value);
  if (choice !== undefined) return choice;
  throw new LonghaulError(
    'invalid_input',
    `The run cannot start: "ifExists" is ${JSON.stringify(value)}: write "fail", "return" or "restartFailed"`,
  );
}

/** The parts of a result that are read on request. The literal `true` also adds the part to the type of the result. */
export interface ResultParts<Steps = boolean, Trace = boolean, Deps = boolean, State = boolean> {
  /** True: the result has the steps of the run. */
  steps?: Steps;
  /** True: the result has the trace of the run: what it did, step by step. */
  trace?: Trace;
  /** True: the result has the deps at the end of the run. */
  deps?: Deps;
  /** True: the result has the state that tools have set, at the end of the run. */
  state?: State;
  /** True: the result names the run's span in the operator's traces. */
  traceContext?: boolean;
}

/** The options of a wait for a result. */
export type ResultOptions<Steps = boolean, Trace = boolean, Deps = boolean, State = boolean> = WaitOptions &
  ResultParts<Steps, Trace, Deps, State>;

/** The options of starting a run and waiting for it. Its `deps` and `state` are options of the start. */
export type AwaitOptions<Steps = boolean, Trace = boolean> = WaitOptions & Pick<ResultParts<Steps, Trace>, 'steps' | 'trace'>;

/** A part of a result, present if it was requested. */
export type Part<Asked, Found> = [Asked] extends [true] ? Found : unknown;

/** The requested parts of a result. */
export type RequestedBy<Steps, Trace, Deps = false, State = false> = Part<Steps, { readonly steps: StepResult[] }> &
  Part<Trace, { readonly trace: ExecutionTrace }> &
  Part<Deps, { readonly deps: JsonObject }> &
  Part<State, { readonly state: JsonObject }>;

/** The options of starting a run and waiting for it, without the options of the start. */
export const AWAIT_OPTIONS: OptionTable<AwaitOptions> = { steps: true, trace: true, timeout: true, signal: true };

export const RESULT_OPTIONS: OptionTable<ResultOptions> = { ...AWAIT_OPTIONS, deps: true, state: true, traceContext: true };

/** Returns only the options of the wait. */
export function awaitOptions({ steps, trace, timeout, signal }: AwaitOptions): AwaitOptions {
  return defined({ steps, trace, timeout, signal });
}
