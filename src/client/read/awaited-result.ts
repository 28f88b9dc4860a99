import type { Client } from '@temporalio/client';
import type { Missing } from '../../core/domain/missing-definitions.ts';
import type { RequestedParts, RunResultFields } from '../../core/domain/result.ts';
import { runOutcome } from '../../temporal/run-outcome.ts';
import { type WaitOptions, waitEnded, waitSignal } from '../../temporal/waiting.ts';
import type { RunReader } from './reader.ts';
import type { ResultOptions, ResultParts } from './result-options.ts';

/** Waits for the end of a run, and reads its whole result. */
export class AwaitedResult {
  readonly #client: Client;
  readonly #runId: string;
  readonly #reader: RunReader;
  #isRun: boolean;

  /** `isRun`: the workflow is known to be a run. */
  constructor(client: Client, runId: string, reader: RunReader, isRun = false) {
    this.#client = client;
    this.#runId = runId;
    this.#reader = reader;
    this.#isRun = isRun;
  }

  /** Returns the result and the requested parts. Throws `run_not_found`, `run_terminated`, `run_timed_out`, `wait_timeout`, or the reason of the signal. */
  async read({
    steps = false,
    deps = false,
    state = false,
    trace = false,
    ...options
  }: ResultOptions): Promise<{ fields: RunResultFields; parts: RequestedParts }> {
    const fields = await this.#wait(options, async () => {
      // The result of any workflow could be waited for. A run that this client started is known to be one.
      if (!this.#isRun) await this.#reader.chain.newest();
      this.#isRun = true;
      return runOutcome(this.#client, this.#runId);
    });
    return { fields: await this.#whole(fields, steps), parts: await this.#parts({ deps, state, trace }) };
  }

  /** Adds the fields that the closing event leaves out, from the history. */
  async #whole(fields: RunResultFields, steps: boolean): Promise<RunResultFields> {
    const { outputTruncated, ...rest } = fields;
    const recorded = outputTruncated ? await this.#reader.recordedResult() : undefined;
    const output = recorded === undefined ? fields : { ...rest, output: recorded.output };
    return steps ? { ...output, steps: await this.#reader.recordedSteps() } : output;
  }

  /** Reads what the run has at its end, as far as it is asked for. */
  async #parts({ deps, state, trace }: Pick<ResultParts, 'deps' | 'state' | 'trace'>): Promise<RequestedParts> {
    const data = deps || state ? await this.#reader.data() : undefined;
    return {
      ...(deps ? { deps: data?.deps ?? {} } : {}),
      ...(state ? { state: data?.state ?? {} } : {}),
      ...(trace ? { trace: await this.#reader.trace() } : {}),
    };
  }

  /** Returns the likely reasons why the run has not ended in time; none on an error, since the caller has waited long enough. */
  async #missing(): Promise<Missing[]> {
    const { missing } = await this.#reader.chain.newest().catch(() => ({ missing: [] }));
    return missing;
  }

  async #wait<Value>(options: WaitOptions, work: () => Promise<Value>): Promise<Value> {
    const signal = waitSignal(options);
    if (signal === undefined) return work();
    // The SDK waits forever with a signal that was aborted before the call.
    signal.throwIfAborted();
    try {
      return await this.#client.withAbortSignal(signal, work);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw waitEnded(this.#runId, options, options.signal?.aborted ? [] : await this.#missing());
    }
  }
}
