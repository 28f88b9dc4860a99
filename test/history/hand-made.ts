import type { NamedActivity, RecordedExecution } from '../../src/history/recorded-execution.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import { ACTIVITIES, type CallModelOutput, type RunToolOutput } from '../../src/core/protocol.ts';

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
  /** The names of the tools that the newest response calls, by their index in its content. */
  #called: string[] = [];

  constructor(snapshot: AgentSnapshot, tasks = 20) {
    this.recorded = {
      executionId: 'execution',
      startedAt: BEGAN,
      input: { agent: snapshot.name, input: 'Q' },
      resolved: { snapshot, task: 2 },
      activities: [],
      localCalls: [],
      checkpoints: [],
      children: new Map(),
      ended: [],
      inboundMessages: [],
      changes: new Set(),
      timers: new Set(),
      taskTimes: Array.from({ length: tasks }, (_, task) => BEGAN + (task + 1) * APART),
    };
  }

  /** A model call after this many events, and its answer. */
  model(through: number, times: Asked, content: ContentItem[], more: Partial<RecordedResponse> = {}): this {
    const finishReason = content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'stop';
    this.#called = content.map((item) => (item.type === 'tool_call' ? item.name : ''));
    const response: RecordedResponse = { id: `model-${(this.#events += 1)}`, content, finishReason, usage: null, ...more };
    return this.modelOutput(through, times, { type: 'response', response });
  }

  modelOutput(through: number, times: Asked, output: CallModelOutput): this {
    const input = { agent: '', through, lastEventId: `event-${through}` };
    this.activity(ACTIVITIES.callModel, input, times, output);
    return this;
  }

  /** A tool call of the newest response by its position. */
  tool(offset: number, index: number, times: Asked, result: string): this {
    const output: RunToolOutput = { id: `result-${offset}-${index}`, content: [result], durationMs: 1 };
    const input = { agentName: '', callId: '', step: 1, at: [offset, index] as [number, number], eventId: '', timeoutMs: 60_000 };
    this.activity(this.#called[index] ?? '', input, times, output);
    return this;
  }

  /**
   * A local call that ended in this task, this many milliseconds after it began: with a result for the call at that position, or
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

  /** An activity of that name. */
  activity<Input, Output>(name: string, input: Input, { asked, ended }: Asked, output: Output): this {
    const activity: NamedActivity = { name, input, scheduledIn: asked, ...(ended === undefined ? {} : { output, task: ended }) };
    this.recorded.activities.push(activity);
    if (ended !== undefined) this.recorded.ended.push(activity);
    this.recorded.ended.sort((a, b) => (a.task ?? 0) - (b.task ?? 0));
    return this;
  }
}
