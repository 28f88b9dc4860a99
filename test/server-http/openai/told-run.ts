import type { StreamItem, StreamItemContent } from '../../../src/client/stream/stream-item.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import { type Event, isResponse, newEvent } from '../../../src/core/domain/record.ts';
import { newStep } from '../../../src/core/domain/tool-calls.ts';
import type { RunResultFields } from '../../../src/core/domain/result.ts';

const USAGE = { ...noUsage(), promptTokens: 10, completionTokens: 5, totalTokens: 15, llmCalls: 1 };

/** Makes the items of a run's stream. The offsets of its events follow each other. */
export class ToldRun {
  readonly items: StreamItem[] = [];
  readonly events: Event[] = [];
  readonly runId: string;
  result: RunResultFields | undefined;

  constructor(runId = 'run-1') {
    this.runId = runId;
  }

  /** A piece of text that has not been recorded. */
  delta(eventId: string, text: string): this {
    return this.item({ type: 'delta', step: 1, attempt: 1, eventId, delta: { type: 'text', text } });
  }

  reasoning(eventId: string, text: string): this {
    return this.item({ type: 'delta', step: 1, attempt: 1, eventId, delta: { type: 'reasoning', text } });
  }

  reset(): this {
    return this.item({ type: 'reset', step: 1, attempt: 2 });
  }

  /** An answer of the model. */
  answer(id: string, text: string, ...calls: { id: string; name: string; arguments: Record<string, string> }[]): this {
    const content: ContentItem[] = [
      ...(text === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: text }]),
      ...calls.map((one) => ({ type: 'tool_call' as const, toolCallId: one.id, name: one.name, arguments: one.arguments })),
    ];
    return this.event(id, content, { usage: null });
  }

  toolResult(callId: string, text: string, status: 'success' | 'error' = 'success'): this {
    return this.event(`result-${callId}`, [{ type: 'tool_result', toolCallId: callId, name: 'search', status, content: [text] }]);
  }

  /** The same run, of an agent with guardrails for its answers: its worker streams no part of them. */
  guarded(): this {
    this.items.splice(0, Infinity, ...this.items.filter(({ type }) => type !== 'delta'));
    for (const event of this.events) if (isResponse(event)) event.guarded = true;
    return this;
  }

  step(finishReason = 'stop'): this {
    return this.item({ type: 'step', step: { ...newStep(1), finishReason } });
  }

  event(id: string, content: ContentItem[], more: Partial<Event> = {}): this {
    const event = { ...newEvent({ id, now: 0 }, this.runId, 'clerk', content), ...more };
    this.events.push(event);
    return this.item({ type: 'event', offset: this.events.length - 1, event });
  }

  end(output: RunResultFields['output'], more: Partial<RunResultFields> = {}): this {
    this.result = {
      version: 1,
      runId: this.runId,
      agentName: 'clerk',
      output,
      status: 'completed',
      stopReason: 'final_answer',
      stepsUsed: 1,
      usage: USAGE,
      toolCallsTotal: 0,
      toolCallsByName: {},
      startTime: '2026-11-25T10:00:00.000Z',
      endTime: '2026-11-25T10:00:09.000Z',
      durationSeconds: 9,
      error: null,
      limits: { steps: 10 },
      ...more,
    };
    return this.item({ type: 'end', result: this.result });
  }

  item(content: StreamItemContent): this {
    this.items.push({ ...content, cursor: `${this.items.length}` });
    return this;
  }
}
