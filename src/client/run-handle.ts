import type { Client } from '@temporalio/client';
import type { ContentPart } from '../domain/content.ts';
import type { Event } from '../domain/event.ts';
import { type DefaultOutput, RunResult, type RunResultFields } from '../domain/run-result.ts';
import { isTerminal } from '../domain/run-status.ts';
import type { StepResult } from '../domain/step.ts';
import {
  type ContextPage,
  type MessageReceipt,
  type PauseReceipt,
  QUERIES,
  type StatusView,
  type StepsPage,
  UPDATES,
} from '../protocol.ts';
import { followEvents, type FollowOptions } from './follow-events.ts';
import { type ReadBackRun, readBack } from './read-back.ts';
import { recordedRun } from './recorded-run.ts';
import { requestCancel } from './request-cancel.ts';
import { runNotFound, runOutcome } from './run-outcome.ts';
import { queryRun } from './run-queries.ts';
import { updateRun, type UpdateOptions } from './run-update.ts';
import { sendMessage, type SendOptions } from './send-message.ts';
import { contextFrom, statusFrom, statusOf, stepsFrom } from './views.ts';
import { type WaitOptions, waitEnded, waitSignal } from './waiting.ts';

/** One run: ask it, wait for it, cancel it. Everything that reads works with and without a running worker. */
export class RunHandle<Output = DefaultOutput> {
  readonly runId: string;
  readonly #client: Client;

  constructor(client: Client, runId: string) {
    this.#client = client;
    this.runId = runId;
  }

  /**
   * Waits for the end and returns the result, for all four terminal statuses; with `steps: true` the steps too.
   * Throws `run_not_found`, `run_terminated`, `run_timed_out`, `wait_timeout`, or the reason of the signal.
   */
  async result(options: WaitOptions & { steps?: boolean } = {}): Promise<RunResult<Output>> {
    const fields = await this.#wait(options, () => runOutcome(this.#client, this.runId));
    const whole = options.steps || fields.outputTruncated ? await this.#whole(fields, options.steps === true) : fields;
    return new RunResult(whole as RunResultFields<Output>);
  }

  /** Where the run is: status, step, usage. */
  async status(): Promise<StatusView> {
    const [execution, view] = await Promise.all([this.#describe(), queryRun<StatusView>(this.#client, this.runId, QUERIES.status)]);
    if (view === undefined) return statusFrom(this.runId, execution, await this.#readBack());
    // A run that was ended from outside answers as it stood when that happened.
    return execution.closed && !isTerminal(view.status) ? { ...view, status: statusOf(execution.status) } : view;
  }

  /** The ExecutionContext with a page of its events, from an offset on. */
  async context({ from = 0 }: { from?: number } = {}): Promise<ContextPage> {
    return (
      (await queryRun<ContextPage>(this.#client, this.runId, QUERIES.context, { from })) ??
      contextFrom(this.runId, await this.#readBack(), from)
    );
  }

  /** The steps recorded so far. */
  async steps(): Promise<StepResult[]> {
    const steps: StepResult[] = [];
    for (;;) {
      const page = await queryRun<StepsPage>(this.#client, this.runId, QUERIES.steps, { from: steps.length });
      if (page === undefined) return stepsFrom(await this.#readBack());
      steps.push(...page.steps);
      if (steps.length >= page.total || page.steps.length === 0) return steps;
    }
  }

  /** The events from an offset on; with `follow` as they happen, until the run ends. Offsets are indexes: nothing is skipped or repeated. */
  events(options: FollowOptions = {}): AsyncGenerator<Event> {
    return followEvents(this, async () => (await this.#describe()).closed, options);
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
    if ((await this.#describe()).closed) return 'already_ended';
    return requestCancel(this.#client, this.runId, reason);
  }

  async #describe(): Promise<{ status: string; closed: boolean }> {
    try {
      const { status } = await this.#client.workflow.getHandle(this.runId).describe();
      return { status: status.name, closed: status.name !== 'RUNNING' };
    } catch (error) {
      if (error instanceof Error && error.name === 'WorkflowNotFoundError') throw runNotFound(this.#client, this.runId);
      throw error;
    }
  }

  async #readBack(): Promise<ReadBackRun> {
    return readBack(this.runId, await recordedRun(this.#client, this.runId));
  }

  /** What the closing event leaves out, from the history. */
  async #whole(fields: RunResultFields, steps: boolean): Promise<RunResultFields> {
    const { state, result } = await this.#readBack();
    const { outputTruncated, ...rest } = fields;
    return {
      ...rest,
      ...(outputTruncated && result !== undefined ? { output: result.output } : outputTruncated ? { outputTruncated } : {}),
      ...(steps ? { steps: state?.steps ?? [] } : {}),
    };
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
