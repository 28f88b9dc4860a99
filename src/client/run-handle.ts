import type { Client } from '@temporalio/client';
import type { AnyAgent, OutputOf, UnfinishedOf } from '../define/agent-definition.ts';
import { requireKnown } from '../define/options/option-checks.ts';
import type { ContentPart } from '../core/domain/content/content.ts';
import type { Event } from '../core/domain/record/event.ts';
import type { LimitOptions } from '../core/domain/agent/limit-options.ts';
import type { Missing } from '../core/domain/errors/missing.ts';
import { type DefaultOutput, RunResult, type RunResultFields } from '../core/domain/run/run-result.ts';
import type { StepResult } from '../core/domain/record/step.ts';
import type { JsonValue } from '../core/domain/json/json.ts';
import {
  type ContextPage,
  type DecisionReceipt,
  type MessageReceipt,
  type PauseReceipt,
  type RaiseReceipt,
  type RevokeInput,
  type RevokeReceipt,
  type StatusView,
  UPDATES,
} from '../core/protocol.ts';
import {
  type ApproveOptions,
  type DecidedOn,
  type DecidedRun,
  decideCall,
  type DecisionOptions,
  type RejectOptions,
} from './updates/decide-call.ts';
import { type DeleteOutcome, deleteRun, type RunStores } from './export/delete-run.ts';
import type { ExportLine } from './export/export-line.ts';
import { type ExportOptions, exportRun } from './export/export-run.ts';
import type { FollowOptions } from './read/follow-events.ts';
import { raiseLimits, type RaiseOptions } from './updates/raise-limits.ts';
import { failIfUnreachable, failEachIfUnreachable } from '../temporal/server-reachability.ts';
import { requestCancel } from '../temporal/request-cancel.ts';
import { type RetryOptions, type RetryReceipt, retryRun } from './retry/retry-run.ts';
import type { RunApprovals } from './read/run-approvals.ts';
import { checkRunId } from '../temporal/run-id.ts';
import { runOutcome } from '../temporal/run-outcome.ts';
import { RunReader } from './read/run-reader.ts';
import { updateRun, type UpdateOptions } from './updates/run-update.ts';
import { sendMessage, type SendOptions } from './updates/send-message.ts';
import { type WaitOptions, waitEnded, waitSignal } from '../temporal/waiting.ts';

/** How a run is cancelled. */
export interface CancelOptions {
  /** Who cancels it. */
  by?: string;
}

/** The handle of a run of the agent that the type names; of an agent given by its name, or of the output that the type is. */
export type HandleOf<AgentOrOutput> = [AgentOrOutput] extends [AnyAgent]
  ? RunHandle<OutputOf<AgentOrOutput>, UnfinishedOf<AgentOrOutput>>
  : [AgentOrOutput] extends [string]
    ? RunHandle
    : RunHandle<AgentOrOutput>;

/**
 * One run: ask it, wait for it, cancel it. Everything that reads works with and without a running worker. `Output` is
 * what the run answers, `Unfinished` what it leaves where it does not complete. Every method throws `run_not_found`,
 * `not_a_run` for a workflow of your own, and `server_unreachable` where the server stops answering.
 */
export class RunHandle<Output = DefaultOutput, Unfinished = Output | string> {
  readonly runId: string;
  readonly #client: Client;
  readonly #reader: RunReader;
  readonly #stores: RunStores;

  #isRun: boolean;

  /** `stores`: what else has parts of the run. `isRun`: it is known that the workflow of that id is a run of an agent. */
  constructor(client: Client, runId: string, { isRun = false, ...stores }: RunStores & { isRun?: boolean } = {}) {
    this.#client = client;
    this.runId = checkRunId(runId);
    this.#isRun = isRun;
    this.#stores = stores;
    this.#reader = new RunReader(client, runId);
  }

  /**
   * Waits for the end and returns the result, for all four terminal statuses; with `steps: true` the steps too.
   * Throws `run_not_found`, `run_terminated`, `run_timed_out`, `wait_timeout`, or the reason of the signal.
   */
  async result(options: WaitOptions & { steps?: boolean } = {}): Promise<RunResult<Output, Unfinished>> {
    requireKnown('"result"', options, ['steps', 'timeout', 'signal']);
    return this.#reach(async () => {
      const fields = await this.#wait(options, async () => {
        // The result of any workflow could be waited for. What was started here is known to be a run.
        if (!this.#isRun) await this.#reader.chain.newest();
        this.#isRun = true;
        return runOutcome(this.#client, this.runId);
      });
      return new RunResult(await this.#whole(fields, options.steps === true)) as RunResult<Output, Unfinished>;
    });
  }

  /** Where the run is: status, step, usage. */
  async status(): Promise<StatusView> {
    return this.#reach(() => this.#reader.status());
  }

  /**
   * The ExecutionContext with a page of its events, from an offset on; the next page begins after the last event.
   * Throws `history_removed` where the server has removed those events.
   */
  async context({ from = 0 }: { from?: number } = {}): Promise<ContextPage> {
    return this.#reach(() => this.#reader.context(from));
  }

  /** The steps recorded so far. Where the server has removed the beginning of the run, those that are left: `step` says which. */
  async steps(): Promise<StepResult[]> {
    return this.#reach(() => this.#reader.steps());
  }

  /**
   * The events from an offset on; with `follow` as they happen, until the run ends. Offsets are indexes: nothing is
   * skipped or repeated. Throws `history_removed` where the server has removed the events at that offset.
   */
  events(options: FollowOptions = {}): AsyncGenerator<Event> {
    return failEachIfUnreachable(this.#client, this.#reader.events(options));
  }

  /**
   * The complete run, line by line, while it goes on or after it has ended: see `ExportLine`. The last line says what is
   * missing. What the server has removed comes from `archive`; by default the client's. Throws `run_not_found`.
   */
  export(options: ExportOptions = {}): AsyncGenerator<ExportLine> {
    return failEachIfUnreachable(this.#client, exportRun(this.#client, this.runId, { archive: this.#stores.archive, ...options }));
  }

  /**
   * Removes the whole run that has ended: its executions, what was spilled for it and what is archived of it, in the
   * stores that are given; by default the client's. The server does its part within a minute or so. Deleting again is no
   * error. Throws `run_open`.
   */
  async delete(stores: RunStores = {}): Promise<DeleteOutcome> {
    return this.#reach(() => deleteRun(this.#client, this.runId, { ...this.#stores, ...stores }));
  }

  /** What waits for a decision, and the decisions that hold for further calls. */
  async approvals(): Promise<RunApprovals> {
    return this.#reach(() => this.#reader.approvals());
  }

  /**
   * Lets a call run that waits for a decision. `about` is the pending approval as it was listed: the decision counts for
   * exactly that call with those arguments, and is refused if something else waits by then. The id of a call instead
   * means the call that waits under that id now: it is looked up first. Decided twice, the same decision (by its id) is answered with what happened
   * as `repeated`, across executions and after the end of the run. Throws `already_decided`, `unknown_call`,
   * `digest_mismatch`, `invalid_arguments`, `not_authorized`, `run_ended`, `invalid_input`, `wait_timeout`.
   */
  async approve(about: DecidedOn, options: ApproveOptions = {}): Promise<DecisionReceipt> {
    const { arguments: edited, remember } = options;
    const content = { ...(edited === undefined ? {} : { arguments: edited }), ...(remember === undefined ? {} : { remember }) };
    return this.#reach(() => decideCall(this.#decided, { type: 'approve', about, content, options }));
  }

  /** Rejects a call that waits for a decision: the model reads why. `about` and what is thrown are as for `approve`. */
  async reject(about: DecidedOn, options: RejectOptions = {}): Promise<DecisionReceipt> {
    const { reason, remember } = options;
    const content = { ...(reason === undefined ? {} : { reason }), ...(remember === undefined ? {} : { remember }) };
    return this.#reach(() => decideCall(this.#decided, { type: 'reject', about, content, options }));
  }

  /** Answers a call that waits, in the tool's stead: a question to a person, or any other call. `about` and what is thrown are as for `approve`. */
  async respond(about: DecidedOn, content: JsonValue, options: DecisionOptions = {}): Promise<DecisionReceipt> {
    return this.#reach(() => decideCall(this.#decided, { type: 'respond', about, content: { content }, options }));
  }

  /** Lets a remembered decision hold for no further calls. Throws `run_ended`, `wait_timeout`. */
  async revoke(decisionId: string, options: UpdateOptions = {}): Promise<RevokeReceipt> {
    const argument: RevokeInput = { decision: decisionId };
    return this.#reach(() => updateRun<RevokeReceipt>(this.#client, this.runId, { name: UPDATES.revoke, argument }, options));
  }

  /**
   * Raises limits of the run while it goes on or waits, each to what it is to be from now on: `{steps: 30, costUsd: 2,
   * deadline: '4h'}`. Taken once for each id. Throws `run_ended`, `invalid_input` for a
   * limit that would be lower or that the run does not have, `wait_timeout`.
   */
  async raise(limits: LimitOptions, options: RaiseOptions = {}): Promise<RaiseReceipt> {
    return this.#reach(() => raiseLimits(this.#client, this.runId, limits, options));
  }

  /**
   * Sends a message to the running run: the model reads it before its next call, or as `mode` says. It is accepted once for
   * each id and never lost, across switches to another execution. Throws `run_ended`, `queue_full`, `payload_too_large`,
   * `invalid_input`, `wait_timeout`.
   */
  async send(content: string | ContentPart[], options: SendOptions = {}): Promise<MessageReceipt> {
    return this.#reach(() => sendMessage(this.#client, this.runId, content, options));
  }

  /** After the current step the run begins nothing new, until it is resumed. Waiting costs nothing. */
  async pause(options: UpdateOptions = {}): Promise<PauseReceipt> {
    return this.#reach(() => updateRun<PauseReceipt>(this.#client, this.runId, { name: UPDATES.pause }, options));
  }

  /** Lets a paused run go on. */
  async resume(options: UpdateOptions = {}): Promise<PauseReceipt> {
    return this.#reach(() => updateRun<PauseReceipt>(this.#client, this.runId, { name: UPDATES.resume }, options));
  }

  /**
   * Cancels the run: calls in flight are aborted, and it closes as Canceled with what it has recorded. The reason is
   * kept in the run's history and result, with who cancelled it (`by`). Returns `already_ended` where there is nothing left to cancel.
   */
  async cancel(reason: string, { by }: CancelOptions = {}): Promise<'requested' | 'already_ended'> {
    return this.#reach(async () => {
      // Asked first: some servers accept a request to cancel what has closed, and do nothing.
      if ((await this.#reader.chain.newest()).closed) return 'already_ended';
      return requestCancel(this.#client, this.runId, by === undefined ? reason : `${reason} (${by})`);
    });
  }

  /**
   * Lets the run, which has ended, go on from a step: the model is asked again for that step, and no call of the steps
   * before it is made again. Run id and handles stay. Two callers at once retry once, from the step of the first. Throws
   * `run_open`, and `invalid_input` for a step that is not there.
   */
  async retry(options: RetryOptions = {}): Promise<RetryReceipt> {
    return this.#reach(() => retryRun(this.#client, this.runId, options));
  }

  get #decided(): DecidedRun {
    return { client: this.#client, runId: this.runId, reader: this.#reader };
  }

  /** What the closing event leaves out, from the history. */
  async #whole(fields: RunResultFields, steps: boolean): Promise<RunResultFields> {
    const { outputTruncated, ...rest } = fields;
    const recorded = outputTruncated ? await this.#reader.recordedResult() : undefined;
    const output = recorded === undefined ? fields : { ...rest, output: recorded.output };
    return steps ? { ...output, steps: await this.#reader.recordedSteps() } : output;
  }

  /** Why the run may not have ended in time. Whoever waited is not to wait for that as well. */
  async #missing(): Promise<Missing[]> {
    const { missing } = await this.#reader.chain.newest().catch(() => ({ missing: [] }));
    return missing;
  }

  #reach<Value>(work: () => Promise<Value>): Promise<Value> {
    return failIfUnreachable(this.#client, work);
  }

  async #wait<Value>(options: WaitOptions, work: () => Promise<Value>): Promise<Value> {
    const signal = waitSignal(options);
    if (signal === undefined) return work();
    // The SDK waits for ever with a signal that was aborted before the call.
    signal.throwIfAborted();
    try {
      return await this.#client.withAbortSignal(signal, work);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw waitEnded(this.runId, options, options.signal?.aborted ? [] : await this.#missing());
    }
  }
}
