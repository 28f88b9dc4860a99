import type { JsonObject } from '../../core/domain/json.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';
import type { ExecutionTrace } from '../../core/domain/trace.ts';
import type { WaitOptions } from '../../temporal/waiting.ts';

/** The parts of a result that are read on request. A part that is asked for by the literal `true` is there by its type. */
export interface ResultParts<Steps = boolean, Trace = boolean, Deps = boolean, State = boolean> {
  /** True: the result has the steps of the run. */
  steps?: Steps;
  /** True: the result has the trace of the run. */
  trace?: Trace;
  /** True: the result has the deps at the end of the run. */
  deps?: Deps;
  /** True: the result has the state that tools have set, at the end of the run. */
  state?: State;
}

/** The options of a wait for a result. */
export type ResultOptions<Steps = boolean, Trace = boolean, Deps = boolean, State = boolean> = WaitOptions &
  ResultParts<Steps, Trace, Deps, State>;

/** The options of a run that is started and waited for. Its `deps` and `state` are those of the start. */
export type AwaitOptions<Steps = boolean, Trace = boolean> = WaitOptions & Pick<ResultParts<Steps, Trace>, 'steps' | 'trace'>;

/** The part of a result that is there if it was asked for. */
type Part<Asked, Found> = [Asked] extends [true] ? Found : unknown;

/** The parts of a result that were asked for. */
export type RequestedBy<Steps, Trace, Deps = false, State = false> = Part<Steps, { readonly steps: StepResult[] }> &
  Part<Trace, { readonly trace: ExecutionTrace }> &
  Part<Deps, { readonly deps: JsonObject }> &
  Part<State, { readonly state: JsonObject }>;

/** The options of a wait by name: the compiler reports one that is added to the types and missing here. */
const AWAITED: Record<keyof AwaitOptions, true> = { steps: true, trace: true, timeout: true, signal: true };

/** The names of the options of a run that is started and waited for, besides those of its start. */
export const AWAIT_OPTIONS = Object.keys(AWAITED);

/** The names of the options of a wait for a result. */
export const RESULT_OPTIONS = [...AWAIT_OPTIONS, 'deps', 'state'] satisfies string[];

/** Returns the options of a wait alone. */
export function awaitOptions({ steps, trace, timeout, signal }: AwaitOptions): AwaitOptions {
  return {
    ...(steps === undefined ? {} : { steps }),
    ...(trace === undefined ? {} : { trace }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(signal === undefined ? {} : { signal }),
  };
}
