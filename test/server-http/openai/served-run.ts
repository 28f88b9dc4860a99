import OpenAI from 'openai';
import type { ClientOptions } from 'openai';
import type { StreamItem, StreamItemContent } from '../../../src/client/stream/stream-item.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { type Event, isResponse, newEvent } from '../../../src/core/domain/record.ts';
import { resultFrom, type RunResultFields } from '../../../src/core/domain/result.ts';
import { newStep } from '../../../src/core/domain/tool-calls.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import { defineAgent } from '../../../src/index.ts';
import { type Caller, createHandler, type Handler, type HandlerOptions } from '../../../src/server/index.ts';
import { clientWithRun } from '../requests.ts';

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

/** The package, as a user of the service has it, whose requests reach a handler. */
export function openaiFor(handler: Handler, options: ClientOptions = {}): OpenAI {
  return new OpenAI({
    baseURL: 'http://localhost/v1',
    apiKey: 'key',
    maxRetries: 0,
    fetch: async (url, init) => handler(new Request(url, init)),
    ...options,
  });
}

/** The agent that runs are of. */
export const clerk = defineAgent({ name: 'clerk', model: 'scripted/m' });

/** A service whose only run is this one, the requested starts, and the offsets of the pages of the record that it has read. */
export function served(
  run: ToldRun,
  options: HandlerOptions & { caller?: Partial<Caller>; removed?: number } = {},
): { handler: Handler; calls: unknown[][]; pages: number[] } {
  const { caller, removed = 0, ...rest } = options;
  const calls: unknown[][] = [];
  const pages: number[] = [];
  async function* stream() {
    yield* run.items;
  }
  async function* events() {
    yield* run.events;
  }
  // Pages of the record, as a worker answers them: the end of the record has an empty one.
  const context = async ({ from = 0 }: { from?: number } = {}) => {
    const total = removed + run.events.length;
    if (from < removed) throw new LonghaulError('history_removed', 'The server has removed it');
    if (from < total) pages.push(from);
    return { from, total, events: run.events.slice(from - removed, from - removed + 15) };
  };
  const methods = {
    context,
    stream: ({ signal: _ }: { signal: AbortSignal }) => stream(),
    events,
    status: async () => ({
      agentName: 'clerk',
      startTime: '2026-11-25T10:00:00.000Z',
      status: run.result?.status ?? 'pending_confirmation',
      waitingFor: run.result === undefined ? ['refund'] : [],
    }),
    result: async ({ steps = false }: { steps?: boolean } = {}) => {
      if (run.result === undefined) throw new LonghaulError('wait_timeout', 'The run continues');
      if (!steps) return resultFrom(run.result);
      return resultFrom({
        ...run.result,
        steps: [{ ...newStep(1), finishReason: run.items.findLast((one) => one.type === 'step')?.step.finishReason ?? 'stop' }],
      });
    },
    cancel: async (...parameters: unknown[]) => {
      calls.push(['cancel', ...parameters]);
      return 'requested';
    },
  };
  const others = {
    start: async (agent: unknown, given: unknown) => {
      calls.push(['start', agent === clerk ? 'clerk' : agent, given]);
      return { runId: run.runId };
    },
    temporal: { options: { namespace: 'default' }, workflowService: { describeWorkflowExecution: async () => ({}) } },
  };
  const whole: Caller = { id: 'ops', principal: 'all', scopes: ['runs:read', 'runs:write'], ...caller };
  const handler = createHandler(clientWithRun(methods, others), {
    agents: [clerk],
    authenticate: () => whole,
    onError: () => undefined,
    ...rest,
  });
  return { handler, calls, pages };
}
