import type { RecordedActivity, RecordedExecution } from '../../src/history/recorded-execution.ts';
import { callAddress } from '../../src/history/recorded-execution.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import type { CallModelOutput, RunToolOutput } from '../../src/core/protocol.ts';

/** The tasks that scheduled an activity and that saw its end, if one did. */
interface Asked {
  asked: number;
  ended?: number;
}

/** The start of the first task, and the interval between tasks, in milliseconds. */
export const BEGAN = 1_800_000_000_000;
export const APART = 1_000;

/** The history of one execution, by the events of each task. The agent is resolved in task 2. */
export class HandMade {
  readonly recorded: RecordedExecution;
  #events = 1;

  constructor(snapshot: AgentSnapshot, tasks = 20) {
    this.recorded = {
      executionId: 'execution',
      startedAt: BEGAN,
      input: { agent: snapshot.name, input: 'Q' },
      resolved: { snapshot, task: 2 },
      handoffs: [],
      messageReads: [],
      guardrailChecks: [],
      modelCalls: [],
      summaries: [],
      stepAttempts: new Map(),
      storings: [],
      loads: new Map(),
      verifications: new Map(),
      termsRequests: new Map(),
      reviews: new Map(),
      afterCalls: new Map(),
      toolCalls: new Map(),
      localCalls: [],
      segments: new Map(),
      children: new Map(),
      authorizations: [],
      notifications: [],
      ended: [],
      inboundMessages: [],
      archivings: [],
      changes: new Set(),
      timers: new Set(),
      taskTimes: Array.from({ length: tasks }, (_, task) => BEGAN + (task + 1) * APART),
    };
  }

  /** A model call after so many events, and its answer. */
  model(through: number, times: Asked, content: ContentItem[], more: Partial<RecordedResponse> = {}): this {
    const finishReason = content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'stop';
    const response: RecordedResponse = { id: `model-${(this.#events += 1)}`, content, finishReason, usage: null, ...more };
    return this.modelOutput(through, times, { type: 'response', response });
  }

  modelOutput(through: number, times: Asked, output: CallModelOutput): this {
    const input = { agent: '', through, lastEventId: `event-${through}` };
    this.recorded.modelCalls.push(this.#activity(input, times, output));
    return this;
  }

  /** A tool call by the position of the call. */
  tool(offset: number, index: number, times: Asked, result: string): this {
    const output: RunToolOutput = { id: `result-${offset}-${index}`, content: [result], durationMs: 1 };
    const input = { agentName: '', callId: '', step: 1, at: [offset, index] as [number, number], eventId: '', timeoutMs: 60_000 };
    this.recorded.toolCalls.set(callAddress(offset, index), this.#activity(input, times, output));
    return this;
  }

  /**
   * A local call that ended in this task, so many milliseconds after it began: with a result for the call at that position, or
   * with a failure of the `seq`th activity.
   */
  local(ended: number, name: string, end: { at: [number, number]; result: string } | { seq: number; failure: string }, afterMs = 0): this {
    const seq = 'seq' in end ? end.seq : 0;
    const input = { seq, name, endedAt: BEGAN + ended * APART + afterMs };
    const came =
      'at' in end ? { output: { id: 'local', content: [end.result], durationMs: 1, at: end.at } } : { failure: new Error(end.failure) };
    this.recorded.localCalls.push({ input, scheduledIn: ended, task: ended, ...came });
    return this;
  }

  arrival(by: 'update' | 'signal', task: number, name: string, argument: object | null = null): this {
    this.recorded.inboundMessages.push({ by, name, argument, task });
    return this;
  }

  timer(task: number): this {
    this.recorded.timers.add(task);
    return this;
  }

  cancel(task: number): this {
    this.recorded.cancel = { reason: 'enough', task };
    return this;
  }

  #activity<Input, Output>(input: Input, { asked, ended }: Asked, output: Output): RecordedActivity<Input, Output> {
    if (ended === undefined) return { input, scheduledIn: asked };
    const activity = { input, scheduledIn: asked, output, task: ended };
    this.recorded.ended.push(activity);
    this.recorded.ended.sort((a, b) => (a.task ?? 0) - (b.task ?? 0));
    return activity;
  }
}
