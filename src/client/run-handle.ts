import type { Client } from '@temporalio/client';
import type { Remember } from '../core/domain/approvals.ts';
import { defined, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { AnyAgent, OutputOf, UnfinishedOf } from '../define/agent-definition.ts';
import { requireKnown } from '../define/option-checks.ts';
import type { ContentPart } from '../core/domain/content.ts';
import type { Event } from '../core/domain/record.ts';
import type { LimitOptions } from '../core/domain/limits.ts';
import { type DefaultOutput, type ProgramResult, resultFrom, type RunResult, type TraceContext } from '../core/domain/result.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import type { CallDetails, PinnedAgent, RunTimeline, StepRequest } from '../core/domain/views.ts';
import type { SavedContext } from '../core/saved/saved-context.ts';
import type { ExecutionTrace } from '../core/domain/trace.ts';
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
import type { ApproveOptions, DecidedOn, DecisionOptions, NewDecision, RejectOptions } from './approvals.ts';
import type { DeleteOptions, DeleteOutcome, RunStores } from './delete-run.ts';
import type { ExportLine, ExportOptions } from './export-run.ts';
import { AwaitedResult, type FollowOptions, RunReader } from './reader.ts';
import type { PermissionOptions } from '../define/permissions.ts';
import { type SetPermissionsOptions, setRunPermissions } from './permissions.ts';
import { raiseLimits, type RaiseOptions, sendMessage, type SendOptions, type UpdateOptions, updateRun } from './updates.ts';
import { AuthorizedRun, type KnownRun } from './run-access.ts';
import { checkRunId, requestCancel } from '../temporal/run-workflow.ts';
import type { RetryOptions, RetryReceipt } from './retry-run.ts';
import type { ReadableRun } from './run-details.ts';
import type { RunApprovals } from './executions.ts';
import { type RequestedBy, RESULT_OPTIONS, type ResultOptions } from './client-options.ts';
import { oneByOne, type StreamItem } from './stream/stream-item.ts';
import { RunFeeds } from './stream/run-feeds.ts';
import type { StreamOptions } from './stream/stream-run.ts';
import type { ExportTraceOptions } from './exported-trace.ts';
import type { OtlpTraces } from '../telemetry/otlp.ts';
import type { RunTree, TreeEvent, TreeEventOptions } from './run-tree.ts';
import type { StepRequestOptions } from './step-request.ts';
import type { TimelineOptions } from './timeline.ts';
import type { SetPermissionsReceipt } from '../core/domain/permission-requests.ts';

/** The options of a cancellation. */
export interface CancelOptions {
  /** The person or service that cancels the run. */
  by?: string;
}

/** The type of a run's handle, given the type of its agent, the agent's name, or the type of its output. */
export type HandleOf<AgentOrOutput> = [AgentOrOutput] extends [AnyAgent]
  ? RunHandle<OutputOf<AgentOrOutput>, UnfinishedOf<AgentOrOutput>>
  : [AgentOrOutput] extends [string]
    ? RunHandle
    : RunHandle<AgentOrOutput>;

/** The handle of the run of a program. */
export interface ProgramHandle<Output = JsonValue> extends Omit<RunHandle<Output>, 'result'> {
  /** Waits for the end and returns the result, whatever its status, with an entry for each unit and the requested parts. */
  result<Trace extends boolean = false, Deps extends boolean = false, State extends boolean = false>(
    options?: Omit<ResultOptions<never, Trace, Deps, State>, 'steps'>,
  ): Promise<ProgramResult<Output> & RequestedBy<false, Trace, Deps, State>>;
}

/**
 * The handle of one run. All reading methods work with and without a running worker. `Output` is the type of the run's
 * output, and `Unfinished` its type if the run does not complete. Every method throws `run_not_found`, `not_a_run` for a
 * workflow that is not a run, and `server_unreachable` if the server does not answer.
 */
export class RunHandle<Output = DefaultOutput, Unfinished = Output | string> {
  /** The id of the run. */
  readonly runId: string;
  readonly #client: Client;
  readonly #reader: RunReader;
  readonly #stores: RunStores;
  readonly #allowed: AuthorizedRun;
  readonly #result: AwaitedResult;
  readonly #feeds: RunFeeds | undefined;

  /** `stores`: further stores that hold parts of the run. @internal */
  constructor(client: Client, runId: string, { isRun = false, access, feeds, ...stores }: RunStores & KnownRun = {}) {
    this.#client = client;
    this.runId = checkRunId(runId);
    this.#stores = stores;
    this.#allowed = new AuthorizedRun(client, this.runId, access);
    this.#feeds = feeds;
    this.#reader = new RunReader(client, runId);
    this.#result = new AwaitedResult(client, runId, this.#reader, isRun);
  }

  /**
   * Waits for the end and returns the result, whatever its status. `steps`, `deps`, `state`, `trace` and `traceContext` add these parts,
   * as they are at the end of the run.
   * Throws `run_not_found`, `run_terminated`, `run_timed_out`, `wait_timeout`, or the reason of the signal.
   */
  async result<Steps extends boolean = false, Trace extends boolean = false, Deps extends boolean = false, State extends boolean = false>(
    options: ResultOptions<Steps, Trace, Deps, State> = {},
  ): Promise<RunResult<Output, Unfinished> & RequestedBy<Steps, Trace, Deps, State>> {
    requireKnown('"result"', options, RESULT_OPTIONS);
    return this.#allowed.for(async () => {
      const { fields, parts } = await this.#result.read(options);
      return resultFrom(fields, parts) as RunResult<Output, Unfinished> & RequestedBy<Steps, Trace, Deps, State>;
    });
  }

  /** Returns the status of the run, with its step and usage. */
  async status(): Promise<StatusView> {
    return this.#allowed.for(() => this.#reader.status());
  }

  /** Returns the calls in progress, and the task that waits for a worker, as the server knows them: no worker is asked. @internal */
  async progress(): ReturnType<RunReader['progress']> {
    return this.#allowed.for(() => this.#reader.progress());
  }

  /**
   * Returns the ExecutionContext with a page of its events, from an offset on; the next page begins after the last event.
   * Throws `history_removed` if the server has removed those events.
   */
  async context({ from = 0 }: { from?: number } = {}): Promise<ContextPage> {
    return this.#allowed.for(() => this.#reader.context(from));
  }

  /**
   * Returns the trace of the run so far: what it did, step by step, in nested spans. An agent's trace has a span for each step, with its
   * model call, tool calls and waits for decisions. The trace is computed from the record and not stored.
   */
  async trace(): Promise<ExecutionTrace> {
    return this.#allowed.for(() => this.#reader.trace());
  }

  /**
   * Returns the spans that can be computed from the record, with the ids that workers use, as the body of a request to `/v1/traces`
   * of an OpenTelemetry collector: the run once it has ended, its turns, waits for decisions, calls of children, and last
   * attempts whose workers were lost. `calls` adds the calls that have ended.
   */
  async exportTrace(options: ExportTraceOptions = {}): Promise<OtlpTraces> {
    const { exportedTrace } = await import('./exported-trace.ts');
    return this.#allowed.for(() => exportedTrace(this.#client, this.runId, options));
  }

  /**
   * Returns the span of the run in the operator's traces (docs/telemetry.md), also before it has ended: the ids follow from the run id.
   * For a session, returns the span of a turn, by default the first.
   */
  async traceContext({ turn }: { turn?: number } = {}): Promise<TraceContext> {
    return this.#allowed.for(() => this.#reader.traceContext(turn));
  }

  /**
   * Returns a page of the run's timeline: model calls, tool calls, workflow tasks, waits for people and children, each from its request
   * to its end, with its wait for a worker and its failed attempts. It is computed from the history alone. Children have separate
   * timelines. Throws `history_removed` if the server has removed the history at that offset.
   */
  async timeline(options: TimelineOptions = {}): Promise<RunTimeline> {
    return this.#allowed.for(async () => {
      const { runTimeline } = await import('./timeline.ts');
      return runTimeline(this.#readable, options);
    });
  }

  /**
   * Returns the pinned agent: the current one or, with `at`, the one at that offset. Throws `busy` if none is resolved yet, and
   * `history_removed`.
   */
  async snapshot({ at }: { at?: number } = {}): Promise<PinnedAgent> {
    return this.#allowed.for(async () => {
      const { pinnedAgent } = await import('./run-details.ts');
      return pinnedAgent(this.#readable, at);
    });
  }

  /**
   * Returns the model request of a step, rebuilt from the history by the worker's code. With `providers`, also returns its form
   * on the wire; with `diff: 'previous'`, its differences from the previous request. `unknown` names parts that the record does not hold.
   * Throws `unknown_step` with the existing steps, and `history_removed`.
   */
  async request(step: number, options: StepRequestOptions = {}): Promise<StepRequest> {
    return this.#allowed.for(async () => {
      const { stepRequest } = await import('./step-request.ts');
      return stepRequest(this.#readable, step, options);
    });
  }

  /** Returns one call of the run with its whole arguments, schema, decisions and result. Throws `call_not_found` and `history_removed`. */
  async call(callId: string): Promise<CallDetails> {
    return this.#allowed.for(async () => {
      const { callDetails } = await import('./run-details.ts');
      return callDetails(this.#readable, callId);
    });
  }

  /** Returns the recorded steps. If the server has removed the beginning of the run, only the remaining ones: see their `step`. */
  async steps(): Promise<StepResult[]> {
    return this.#allowed.for(() => this.#reader.steps());
  }

  /**
   * Yields the events from an offset on; with `follow` as they happen, until the run ends. Offsets are indexes: no event is
   * skipped or repeated. With `tree`, yields the events of the run and all its descendants by time, each with its run and its offset
   * there. Throws `history_removed` if the server has removed the events at that offset.
   */
  events(options: TreeEventOptions): AsyncGenerator<TreeEvent>;
  events(options?: FollowOptions): AsyncGenerator<Event>;
  events(options: FollowOptions | TreeEventOptions = {}): AsyncGenerator<Event> {
    return this.#allowed.forEach(async () => {
      if (!('tree' in options)) return this.#reader.events(options);
      const { treeEvents } = await import('./run-tree.ts');
      return treeEvents(this.#client, this.runId, options);
    });
  }

  /**
   * Yields what happens in the run until it has ended: recorded events and steps, and before them pieces of answers
   * as they arrive, if workers and client share a sink (`streams`). The `cursor` of an item continues after it, in any process at any time.
   * Throws `invalid_cursor`, `history_removed`, `run_terminated`, `run_timed_out`, or the reason of the signal.
   */
  stream(options: StreamOptions = {}): AsyncGenerator<StreamItem> {
    const feeds = this.#feeds ?? new RunFeeds(this.#client);
    return oneByOne(
      this.#allowed.forEach(async () => {
        const { streamTogether } = await import('./stream/stream-run.ts');
        return streamTogether(feeds, this.runId, options);
      }),
    );
  }

  /** Returns the context of the run as a document: its conversation, deps and counters. A run can be started from it with `saved`. */
  async save(): Promise<SavedContext> {
    return this.#allowed.for(async () => {
      const { savedContextOf } = await import('./recorded-views.ts');
      return savedContextOf(this.runId, await this.#reader.recordedRun());
    });
  }

  /** Returns the run with all its descendants: their status, steps and usage. Runs that the server does not have are left out. */
  async tree(): Promise<RunTree> {
    return this.#allowed.for(async () => {
      const { readTree } = await import('./run-tree.ts');
      return readTree(this.#client, this.runId);
    });
  }

  /** Returns the handle of a descendant, with the same access to runs. @internal */
  descendant(runId: string): RunHandle {
    return new RunHandle(this.#client, runId, { ...this.#stores, ...defined({ access: this.#allowed.access, feeds: this.#feeds }) });
  }

  /**
   * Yields the complete run, line by line, while it is running or after it has ended: see `ExportLine`. The last line lists the
   * missing ranges. Records that the server has removed come from `archive`, by default the client's. Throws `run_not_found`.
   */
  export(options: ExportOptions = {}): AsyncGenerator<ExportLine> {
    return this.#allowed.forEach(async () => {
      const { exportRun } = await import('./export-run.ts');
      return exportRun(this.#client, this.runId, { archive: this.#stores.archive, ...defined(options) });
    });
  }

  /**
   * Removes a run that has ended and all its descendants: executions, spilled results and archives. The stores default to the
   * client's. The server removes its part within a minute or so. Repeating the call is safe. Throws `run_open`, unless `end` is set.
   */
  async delete(options: DeleteOptions = {}): Promise<DeleteOutcome> {
    return this.#allowed.for(async () => {
      const { deleteRun } = await import('./delete-run.ts');
      return deleteRun(this.#client, this.runId, { ...this.#stores, ...defined(options), streams: this.#feeds });
    });
  }

  /**
   * Returns the pending approvals of the run and of all its descendants, each with the run that waits, and the remembered decisions of
   * the run itself, which apply to further calls.
   */
  async approvals(): Promise<RunApprovals> {
    return this.#allowed.for(() => this.#reader.approvals());
  }

  /**
   * Approves a waiting call, which then runs. `about` is the listed approval: the decision applies to exactly that call with
   * those arguments, and is refused if another one waits by then. A call id instead means the call that waits under
   * that id now, in the run or a descendant: it is looked up first. A decision on a descendant's call goes to that run, which checks and
   * keeps it. A decision that is sent again with the same id gets the first outcome as
   * `repeated`, across executions and after the end of the run. Throws `already_decided`, `unknown_call`, `ambiguous_call`
   * if calls of several runs have that id, `digest_mismatch`, `invalid_arguments`, `not_authorized`, `run_ended`, `invalid_input`, `wait_timeout`.
   */
  async approve(about: DecidedOn, options: ApproveOptions = {}): Promise<DecisionReceipt> {
    const { arguments: edited, remember } = options;
    const content = defined({ arguments: edited, remember });
    return this.#decide({ type: 'approve', about, content, options });
  }

  /** Rejects a waiting call: the model reads the reason. `about` and the errors are as for `approve`. */
  async reject(about: DecidedOn, options: RejectOptions = {}): Promise<DecisionReceipt> {
    const { reason, remember } = options;
    const content = defined({ reason, remember });
    return this.#decide({ type: 'reject', about, content, options });
  }

  /** Answers a waiting call in place of the tool: a question to a person, or any other. `about` and the errors are as for `approve`. */
  async respond(about: DecidedOn, content: JsonValue, options: DecisionOptions = {}): Promise<DecisionReceipt> {
    return this.#decide({ type: 'respond', about, content: { content }, options });
  }

  /** Revokes a remembered decision: it no longer applies to new calls. Throws `run_ended`, `wait_timeout`. */
  async revoke(decisionId: string, options: UpdateOptions = {}): Promise<RevokeReceipt> {
    const argument: RevokeInput = { decision: decisionId };
    return this.#allowed.for(() => updateRun<RevokeReceipt>(this.#client, this.runId, { name: UPDATES.revoke, argument }, options));
  }

  /**
   * Raises limits of the run while it is running or waits, each to its new value: `{steps: 30, totalTokens: 90_000, deadline: '4h'}`.
   * Accepted once per id. Throws `run_ended`, `invalid_input` for a limit that would be lower or that the run does not
   * have, `wait_timeout`.
   */
  async raise(limits: LimitOptions, options: RaiseOptions = {}): Promise<RaiseReceipt> {
    return this.#allowed.for(() => raiseLimits(this.#client, this.runId, { limits }, options));
  }

  /**
   * Sets the permissions of the run, in place of its agent's permissions; rules of its start and of its ancestors still apply.
   * Narrower ones apply to calls that have not begun. Wider ones apply once the worker's `authorize` has allowed them, before
   * the next model call. Accepted once per id. Throws `run_ended`, `invalid_input`, `not_authorized`, `wait_timeout`.
   */
  async setPermissions(permissions: PermissionOptions, options: SetPermissionsOptions = {}): Promise<SetPermissionsReceipt> {
    return this.#allowed.for(() => setRunPermissions(this.#client, this.runId, permissions, options));
  }

  /**
   * Sends a message to the running run: the model reads it before its next call, or at the moment that `mode` names. The
   * message is accepted once per id and never lost, even if the run continues in another execution. Throws `run_ended`,
   * `queue_full`, `payload_too_large`, `invalid_input`, `wait_timeout`, `key_reused` for other content with the id of an accepted message.
   */
  async send(content: string | ContentPart[], options: SendOptions = {}): Promise<MessageReceipt> {
    return this.#allowed.for(() => sendMessage({ client: this.#client, runId: this.runId }, content, options));
  }

  /** Pauses the run: after the current step it starts nothing new until it is resumed. A paused run costs nothing. */
  async pause(options: UpdateOptions = {}): Promise<PauseReceipt> {
    return this.#allowed.for(() => updateRun<PauseReceipt>(this.#client, this.runId, { name: UPDATES.pause }, options));
  }

  /** Resumes a paused run. */
  async resume(options: UpdateOptions = {}): Promise<PauseReceipt> {
    return this.#allowed.for(() => updateRun<PauseReceipt>(this.#client, this.runId, { name: UPDATES.resume }, options));
  }

  /**
   * Cancels the run: calls in flight are aborted, and it closes as Canceled with its records. The reason is kept in the run's
   * history and result, with the person or service that cancelled it (`by`). Returns `already_ended` if it has ended.
   */
  async cancel(reason: string, { by }: CancelOptions = {}): Promise<'requested' | 'already_ended'> {
    return this.#allowed.for(async () => {
      // Checked first: some servers accept a request to cancel a closed workflow, and do nothing.
      if ((await this.#reader.chain.newest()).closed) return 'already_ended';
      return requestCancel(this.#client, this.runId, by === undefined ? reason : `${reason} (${by})`);
    });
  }

  /**
   * Lets a run that has ended continue from a step: the model is called again for that step, and no call of an earlier step
   * is repeated. The run id and existing handles stay valid. If two callers retry at once, the run is retried once, from
   * the step of the first caller. Throws `run_open`, and `invalid_input` for a step that does not exist.
   */
  async retry(options: RetryOptions = {}): Promise<RetryReceipt> {
    return this.#allowed.for(async () => {
      const { retryRun } = await import('./retry-run.ts');
      return retryRun(this.#client, this.runId, options);
    });
  }

  get #readable(): ReadableRun {
    return { client: this.#client, runId: this.runId, reader: this.#reader };
  }

  #decide(decision: NewDecision): Promise<DecisionReceipt> {
    return this.#allowed.forDecision(decision.about, async () => {
      const { decideCall } = await import('./approvals.ts');
      return decideCall({ client: this.#client, runId: this.runId, reader: this.#reader }, decision);
    });
  }
}

/** A decision as a value, with the fields of its type. */
type TypedDecision =
  | { type: 'approve'; arguments?: JsonObject; remember?: Remember }
  | { type: 'reject'; reason?: string; remember?: Remember }
  | { type: 'respond'; content: JsonValue };

/** Sends a decision of any type to a run. */
export function sendDecision(
  run: Pick<RunHandle<unknown>, TypedDecision['type']>,
  about: DecidedOn,
  decision: TypedDecision,
  { id, by }: DecisionOptions,
): Promise<DecisionReceipt> {
  const options = defined({ id, by });
  if (decision.type === 'respond') return run.respond(about, decision.content, options);
  const { remember } = decision;
  if (decision.type === 'reject') return run.reject(about, { ...options, ...defined({ reason: decision.reason, remember }) });
  return run.approve(about, { ...options, ...defined({ arguments: decision.arguments, remember }) });
}
