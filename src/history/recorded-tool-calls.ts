import {
  requirementFailure,
  toolFailure,
  toolOutcome,
  verifiedOutcome,
  verifyFailure,
} from '../core/activity-requests/activity-request.ts';
import { segmentFailure, segmentOutcome } from '../core/activity-requests/code-requests.ts';
import { withAnswers, withFailedHooks, withoutReview } from '../core/activity-requests/hook-requests.ts';
import type { ReviewedCalls } from '../core/domain/activity-messages.ts';
import type { ApprovalRequirement } from '../core/domain/approvals.ts';
import type { RecordedResponse } from '../core/domain/model.ts';
import type { SegmentCall, SegmentOutcome, ToolInvocation, ToolOutcome, ToolResultOutcome } from '../core/loop/ports.ts';
import { ACTIVITIES, type RunSegmentOutput, type RunToolOutput } from '../core/protocol.ts';
import { callKey, type RecordedActivity, type RecordedExecution } from './recorded-execution.ts';
import type { RecordedTasks } from './recorded-tasks.ts';

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

/** The parts of the ports that take recorded activities one by one. */
interface RequestedCalls {
  /** Local calls that the loop has not requested yet. */
  localCallsLeft: Set<LocalCall>;
  /** Called when the loop requests a remote segment. */
  requested: (segment: RecordedActivity<unknown, unknown>) => void;
}

/** Returns the address of a segment: the offset of the event of its call of `run_code`, its index there, and its number. */
export function segmentAddress([offset, index]: readonly [number, number], segment: number): string {
  return `${offset}/${index}/${segment}`;
}

/** Answers for segments of code with their recorded ends. A local one whose worker lacked the namespace ran twice. */
async function recordedSegment(
  recorded: RecordedExecution,
  tasks: RecordedTasks,
  call: SegmentCall,
  { localCallsLeft, requested }: RequestedCalls,
): Promise<SegmentOutcome> {
  const address = segmentAddress([call.offset, call.index], call.segment);
  for (;;) {
    const remote = recorded.segments.get(address);
    if (remote !== undefined) requested(remote);
    const local = remote === undefined ? localSegment(localCallsLeft, address) : undefined;
    if (local !== undefined) localCallsLeft.delete(local);
    const ended = await tasks.endOf(remote ?? (local as RecordedActivity<unknown, RunSegmentOutput> | undefined), { isWaitedFor: false });
    const outcome = ended.failure === undefined ? segmentOutcome(ended.output, call) : segmentFailure(ended.failure);
    if (outcome.type !== 'cold') return outcome;
  }
}

/** Finds the local activity of a segment. The marker of a failure does not say which segment it belongs to: it is the first one. */
function localSegment(left: ReadonlySet<LocalCall>, address: string): LocalCall | undefined {
  const segments = [...left].filter(({ input }) => input.name === ACTIVITIES.runCode);
  return segments.find(({ output }) => addressOfOutput(output) === address) ?? segments.find(({ failure }) => failure !== undefined);
}

function addressOfOutput(output: LocalCall['output']): string | undefined {
  if (output === undefined || !('segment' in output) || output.at === undefined || output.segment === undefined) return undefined;
  return segmentAddress(output.at, output.segment);
}
