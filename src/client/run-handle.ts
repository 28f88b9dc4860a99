import type { Client } from '@temporalio/client';
import type { ContentPart } from '../domain/content.ts';
import type { Event } from '../domain/event.ts';
import { type DefaultOutput, RunResult, type RunResultFields } from '../domain/run-result.ts';
import type { StepResult } from '../domain/step.ts';
import { type ContextPage, type MessageReceipt, type PauseReceipt, type StatusView, UPDATES } from '../protocol.ts';
import { type DeleteOutcome, deleteRun, type RunStores } from './delete-run.ts';
import type { ExportLine } from './export-line.ts';
import { type ExportOptions, exportRun } from './export-run.ts';
import type { FollowOptions } from './follow-events.ts';
import { requestCancel } from './request-cancel.ts';
import { runOutcome } from './run-outcome.ts';
import { RunReader } from './run-reader.ts';
import { updateRun, type UpdateOptions } from './run-update.ts';
import { sendMessage, type SendOptions } from './send-message.ts';
import { type WaitOptions, waitEnded, waitSignal } from './waiting.ts';

/** One run: ask it, wait for it, cancel it. Everything that reads works with and without a running worker. */
export class RunHandle<Output = DefaultOutput> {
  readonly runId: string;
  readonly #client: Client;
  readonly #reader: RunReader;
  readonly #stores: RunStores;

  /** `stores`: what else has parts of the run. */
  constructor(client: Client, runId: string, stores: RunStores = {}) {
    this.#client = client;
    this.runId = runId;
    this.#stores = stores;
    this.#reader = new RunReader(client, runId);
  }

  /**
   * Waits for the end and returns the result, for all four terminal statuses; with `steps: true` the steps too.
   * Throws `run_not_found`, `run_terminated`, `run_timed_out`, `wait_timeout`, or the reason of the signal.
   */
  async result(options: WaitOptions & { steps?: boolean } = {}): Promise<RunResult<Output>> {
    const fields = await this.#wait(options, () => runOutcome(this.#client, this.runId));
    return new RunResult((await this.#whole(fields, options.steps === true)) as RunResultFields<Output>);
  }

  /** Where the run is: status, step, usage. */
  async status(): Promise<StatusView> {
    return this.#reader.status();
  }

  /**
   * The ExecutionContext with a page of its events, from an offset on; the next page begins after the last event.
   * Throws `history_removed` where the server has removed those events.
   */
  async context({ from = 0 }: { from?: number } = {}): Promise<ContextPage> {
    return this.#reader.context(from);
  }

  /** The steps recorded so far. Where the server has removed the beginning of the run, those that are left: `step` says which. */
  async steps(): Promise<StepResult[]> {
    return this.#reader.steps();
  }

  /**
   * The events from an offset on; with `follow` as they happen, until the run ends. Offsets are indexes: nothing is
   * skipped or repeated. Throws `history_removed` where the server has removed the events at that offset.
   */
  events(options: FollowOptions = {}): AsyncGenerator<Event> {
    return this.#reader.events(options);
  }

  /**
   * The complete run, line by line, while it goes on or after it has ended: see `ExportLine`. The last line says what is
   * missing. What the server has removed comes from `archive`; by default the client's. Throws `run_not_found`.
   */
  export(options: ExportOptions = {}): AsyncGenerator<ExportLine> {
    return exportRun(this.#client, this.runId, { archive: this.#stores.archive, ...options });
  }

  /**
   * Removes the whole run that has ended: its executions, what was spilled for it and what is archived of it, in the
   * stores that are given; by default the client's. The server does its part within a minute or so. Deleting again is no
   * error. Throws `run_open`.
   */
  async delete(stores: RunStores = {}): Promise<DeleteOutcome> {
    return deleteRun(this.#client, this.runId, { ...this.#stores, ...stores });
  }

  /**
   * Sends a message to the running run: the model reads it before its next call. It is accepted once for each id and
   * never lost, across switches to another execution. Throws `run_ended`, `queue_full`, `payload_too_large`,
   * `invalid_input`, `wait_timeout`.
   */
  async send(content: string | ContentPart[], options: SendOptions = {}): Promise<MessageReceipt> {
    return sendMessage(this.#client, this.runId, content, options);
  }

  /** After the current step the run begins nothing new, until it is resumed. Waiting costs nothing. */
  async pause(options: UpdateOptions = {}): Promise<PauseReceipt> {
    return updateRun<PauseReceipt>(this.#client, this.runId, { name: UPDATES.pause }, options);
  }

  /** Lets a paused run go on. */
  async resume(options: UpdateOptions = {}): Promise<PauseReceipt> {
    return updateRun<PauseReceipt>(this.#client, this.runId, { name: UPDATES.resume }, options);
  }

  /**
   * Cancels the run: calls in flight are aborted, and it closes as Canceled with what it has recorded. The reason is
   * kept in the run's history and result. Returns `already_ended` where there is nothing left to cancel.
   */
  async cancel(reason: string): Promise<'requested' | 'already_ended'> {
    // Asked first: some servers accept a request to cancel what has closed, and do nothing.
    if ((await this.#reader.chain.newest()).closed) return 'already_ended';
    return requestCancel(this.#client, this.runId, reason);
  }

  /** What the closing event leaves out, from the history. */
  async #whole(fields: RunResultFields, steps: boolean): Promise<RunResultFields> {
    const { outputTruncated, ...rest } = fields;
    const recorded = outputTruncated ? await this.#reader.recordedResult() : undefined;
    const output = recorded === undefined ? fields : { ...rest, output: recorded.output };
    return steps ? { ...output, steps: await this.#reader.recordedSteps() } : output;
  }

  async #wait<Value>(options: WaitOptions, work: () => Promise<Value>): Promise<Value> {
    const signal = waitSignal(options);
    if (signal === undefined) return work();
    // The SDK waits for ever with a signal that was aborted before the call.
    signal.throwIfAborted();
    try {
      return await this.#client.withAbortSignal(signal, work);
    } catch (error) {
      throw signal.aborted ? waitEnded(this.runId, options) : error;
    }
  }
}
