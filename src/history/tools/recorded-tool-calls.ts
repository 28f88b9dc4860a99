import {
  requirementFailure,
  toolFailure,
  toolOutcome,
  verifiedOutcome,
  verifyFailure,
} from '../../core/activity-requests/activity-request.ts';
import { withAnswers, withFailedHooks, withoutReview } from '../../core/activity-requests/hook-requests.ts';
import type { ApprovalRequirement } from '../../core/domain/approvals.ts';
import type { ReviewedCalls } from '../../core/domain/activity-messages.ts';
import type { RecordedResponse } from '../../core/domain/model.ts';
import type { SegmentCall, SegmentOutcome, ToolInvocation, ToolOutcome, ToolResultOutcome } from '../../core/loop/ports.ts';
import type { RunToolOutput } from '../../core/protocol.ts';
import { callKey, type RecordedExecution } from '../recorded-execution.ts';
import { recordedSegment } from './recorded-segments.ts';
import type { RecordedTasks } from '../recorded-tasks.ts';

type LocalCall = RecordedExecution['localCalls'][number];

/** The tool calls, and the segments of code, of one execution that is read back. */
export class RecordedToolCalls {
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  /** Local calls that the loop has not requested yet. */
  readonly #localCallsLeft: Set<LocalCall>;
  /** The number of other tool calls and segments of code that the loop has not requested yet, by the task that requested them. */
  readonly #toolCallsLeft = new Map<number, number>();
  #toolsRunning = 0;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    this.#localCallsLeft = new Set(recorded.localCalls);
    for (const { scheduledIn } of [...recorded.toolCalls.values(), ...recorded.segments.values()]) this.#countToolCall(scheduledIn, 1);
  }

  /** True if the loop has not requested all local calls yet. A local call runs as soon as it is requested: those that are left belong to this execution. */
  get areLocalLeft(): boolean {
    return this.#localCallsLeft.size > 0;
  }

  /** True if the loop has not requested all other calls and segments yet. */
  get areLeft(): boolean {
    return this.#toolCallsLeft.size > 0;
  }

  get areRunning(): boolean {
    return this.#toolsRunning > 0;
  }

  /** True if this workflow task requested a call or a segment that the loop has not requested yet. */
  startIn(task: number): boolean {
    return this.#toolCallsLeft.has(task);
  }

  /** Returns the outcome of a tool call. */
  async runTool(invocation: ToolInvocation): Promise<ToolOutcome> {
    const { tool } = invocation;
    const recorded = this.#recorded.toolCalls.get(this.#keyOf(invocation));
    if (recorded !== undefined) this.#countToolCall(recorded.scheduledIn, -1);
    this.#toolsRunning += 1;
    const ended = await this.#tasks.endOf(recorded ?? this.#localCall(invocation), { isWaitedFor: false });
    this.#toolsRunning -= 1;
    return ended.failure === undefined ? toolOutcome(ended.output as RunToolOutput) : toolFailure(tool, ended.failure);
  }

  /** Returns the outcome of a segment of code. */
  runSegment(call: SegmentCall): Promise<SegmentOutcome> {
    return recordedSegment(this.#recorded, this.#tasks, call, {
      localCallsLeft: this.#localCallsLeft,
      requested: ({ scheduledIn }) => this.#countToolCall(scheduledIn, -1),
    });
  }

  /** Returns the answer of a tool that was asked for the outcome of a call. */
  async verify(invocation: ToolInvocation, reason: string): Promise<ToolOutcome> {
    const recorded = this.#recorded.verifications.get(this.#keyOf(invocation));
    this.#toolsRunning += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    this.#toolsRunning -= 1;
    return ended.failure === undefined ? verifiedOutcome(ended.output, reason) : verifyFailure(ended.failure, reason);
  }

  /** Returns what the hooks before the calls of a response have answered. */
  async reviewCalls(response: RecordedResponse): Promise<ReviewedCalls> {
    const recorded = this.#recorded.reviews.get(response.id);
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    if (ended.failure === undefined) return ended.output;
    return withoutReview(recorded?.input.hooks ?? [], response, ended.failure);
  }

  /** Returns the result of a call as its hooks have left it. */
  async afterCall(invocation: ToolInvocation, outcome: ToolResultOutcome): Promise<ToolResultOutcome> {
    const recorded = this.#recorded.afterCalls.get(this.#keyOf(invocation));
    this.#toolsRunning += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    this.#toolsRunning -= 1;
    if (ended.failure === undefined) return withAnswers(outcome, ended.output);
    return withFailedHooks(recorded?.input.hooks ?? [], outcome, ended.failure, invocation.call.toolCallId);
  }

  /** Returns the terms of an approval that were asked for again. */
  async askTerms(invocation: ToolInvocation): Promise<ApprovalRequirement | undefined> {
    const recorded = this.#recorded.termsRequests.get(this.#keyOf(invocation));
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    return ended.failure === undefined ? (ended.output ?? undefined) : requirementFailure(invocation.eventId, invocation.index);
  }

  /**
   * Returns the outcome of a local call. The marker of a failure does not say which call it belongs to: it is the
   * first one that the workflow requested by that name and that is not assigned to another call.
   */
  #localCall(invocation: ToolInvocation): LocalCall | undefined {
    const { tool } = invocation;
    if (tool.tier !== 'local') return undefined;
    const left = [...this.#localCallsLeft];
    const key = this.#keyOf(invocation);
    const failures = left.filter(({ input, failure }) => failure !== undefined && input.name === tool.name);
    const call =
      left.find(({ input: { name }, output }) => name === tool.name && output !== undefined && callKey(this.#recorded, output) === key) ??
      failures.toSorted((one, other) => one.input.seq - other.input.seq)[0];
    if (call !== undefined) this.#localCallsLeft.delete(call);
    return call;
  }

  #keyOf({ offset, index, call }: ToolInvocation): string {
    return callKey(this.#recorded, { at: [offset, index], callId: call.toolCallId });
  }

  #countToolCall(task: number, more: 1 | -1): void {
    const left = (this.#toolCallsLeft.get(task) ?? 0) + more;
    if (left === 0) this.#toolCallsLeft.delete(task);
    else this.#toolCallsLeft.set(task, left);
  }
}
