import { Chat } from '@ai-sdk/react';
import { type ChatInit, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import type { LonghaulClient, StreamItem } from '../../../src/client/index.ts';
import type { WaitingTask } from '../../../src/client/worker-waits.ts';
import { placeOf } from '../../../src/client/stream/stream-item.ts';
import type { ApprovalView } from '../../../src/core/domain/approvals.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunningCall, UnreadMessage } from '../../../src/core/protocol.ts';
import { type Caller, createHandler, type Handler, type HandlerOptions } from '../../../src/server/index.ts';
import { item } from './recorded-turn.ts';

/** Returns a call that waits for a decision: by default, of a tool that pays money back. */
export function waitingCall(more: Partial<ApprovalView> = {}): ApprovalView {
  return {
    kind: 'tool',
    callId: 'p1',
    toolName: 'refund',
    digest: 'x',
    key: 'k',
    step: 1,
    requestedAt: '2026-11-26T10:00:00.000Z',
    arguments: { amount: 5 },
    ...more,
  };
}

/** A session in memory, as the client of the service sees it, and the requests that it has got. */
export class FakeChat {
  readonly calls: unknown[][] = [];
  readonly items: StreamItem[] = [];
  pending: ApprovalView[] = [];
  turn: number | undefined;
  turns = 0;
  status = 'idle';
  /** The agent that the session began with. */
  agentName = 'clerk';
  /** What the server knows of the calls in progress, and the looks at it. */
  progress: { running: RunningCall[]; waitingTask?: WaitingTask } = { running: [] };
  looks = 0;
  /** The messages that no turn has begun with. */
  unread: UnreadMessage[] = [];
  /** True until the first message. */
  isNew = true;
  /** True: it is a run that is not a session. */
  isRun = false;
  /** The receipt of the next message, in place of the usual one. */
  receipt: object | undefined;
  /** The record of the descendants, or an error to throw instead. */
  below: Event[] | LonghaulError = [];
  /** The number of streams that are open. */
  open = 0;
  /** Called for each message and decision, to let the session act. */
  onRequest: (name: string) => void = () => undefined;
  readonly #readers = new Set<() => void>();
  #failure: unknown;

  /** Publishes items to all readers. */
  publish(...items: readonly StreamItem[]): void {
    for (const one of items) {
      this.items.push(one);
      if (one.type === 'status') this.status = one.status;
      if (one.type === 'event' && one.event.turn !== undefined) this.endTurn();
    }
    this.#wake();
  }

  beginTurn(): void {
    this.turns += 1;
    this.turn = this.turns;
    this.status = 'running';
  }

  endTurn(): void {
    this.turn = undefined;
    this.status = 'idle';
  }

  /** Lets the calls wait, and notifies the readers. */
  wait(...pending: ApprovalView[]): void {
    this.pending = pending;
    this.publish(item({ type: 'status', status: 'pending_confirmation' }));
  }

  /** Lets all streams fail. */
  fail(error: unknown): void {
    this.#failure = error;
    this.#wake();
    this.#failure = undefined;
  }

  /** The client of a service whose only session this is. */
  client(): LonghaulClient {
    const client: object = {
      session: (agent: string, options: { id: string }) => this.#session(agent, options),
      as: () => client,
      temporal: { options: { namespace: 'default' } },
    };
    return client as LonghaulClient;
  }

  #session(agent: string, options: { id: string }): object {
    const decide =
      (name: string) =>
      async (about: { callId: string }, ...rest: unknown[]) => {
        this.calls.push([name, about, ...rest]);
        this.pending = this.pending.filter(({ callId }) => callId !== about.callId);
        this.onRequest(name);
      };
    const run = {
      runId: options.id,
      stream: ({ cursor, signal }: { cursor: string; signal: AbortSignal }) => this.#stream(options.id, cursor, signal),
      context: async ({ from }: { from: number }) => this.#context(from),
      descendant: (runId: string) => ({ events: () => this.#eventsBelow(runId) }),
      approvals: async () => ({ pending: this.pending }),
      status: async () => this.#status(),
      progress: async () => {
        this.looks += 1;
        return this.progress;
      },
      approve: decide('approve'),
      reject: decide('reject'),
      respond: decide('respond'),
    };
    return {
      id: options.id,
      run,
      send: async (content: unknown, { id }: { id: string }) => {
        this.calls.push(['send', agent, options, content, id]);
        const offset = this.#events().length;
        this.isNew = false;
        const beforeStep = this.turn === undefined ? 1 : 2;
        const receipt = this.receipt ?? { id, status: 'queued', queued: 1, offset, beforeStep, turn: this.turn ?? this.turns + 1 };
        this.onRequest('send');
        return { version: 1, ...receipt };
      },
      status: async () => this.#status(),
      interrupt: async (input: unknown) => {
        this.calls.push(['interrupt', input]);
        this.onRequest('interrupt');
        return { version: 1, interrupted: true, turn: this.turns };
      },
    };
  }

  #status(): object {
    if (this.isNew) throw new LonghaulError('run_not_found', 'No run');
    const { status, turns, turn } = this;
    const session = this.isRun ? {} : { session: { turns, ...(turn === undefined ? {} : { turn }) } };
    return { agentName: this.agentName, status, queued: this.unread.length, events: this.#events().length, limits: {}, ...session };
  }

  async *#eventsBelow(runId: string): AsyncGenerator<Event> {
    this.calls.push(['events', runId]);
    if (this.below instanceof LonghaulError) throw this.below;
    yield* this.below;
  }

  #events(): (StreamItem & { type: 'event' })[] {
    return this.items.filter((one) => one.type === 'event');
  }

  #context(from: number): object {
    const all = this.#events().map(({ event }) => event);
    const unread = this.unread.length === 0 ? {} : { unread: this.unread };
    return { from, events: all.slice(from), total: all.length, currentStep: 0, ...unread };
  }

  async *#stream(id: string, cursor: string, signal: AbortSignal): AsyncGenerator<StreamItem> {
    const { offset } = placeOf(id, cursor);
    this.open += 1;
    try {
      let next = offset === 0 ? 0 : this.items.findIndex((one) => one.type === 'event' && one.offset === offset - 1) + 1;
      for (;;) {
        signal.throwIfAborted();
        const one = this.items[next];
        if (one !== undefined) {
          next += 1;
          yield one;
          continue;
        }
        const ended = Promise.withResolvers<void>();
        const fail = (): void => (this.#failure === undefined ? ended.resolve() : ended.reject(this.#failure));
        this.#readers.add(fail);
        signal.addEventListener('abort', () => ended.reject(signal.reason), { once: true });
        await ended.promise;
      }
    } finally {
      this.open -= 1;
    }
  }

  #wake(): void {
    const readers = [...this.#readers];
    this.#readers.clear();
    for (const wake of readers) wake();
  }
}

/** The service of one session, for a caller with these rights. */
export function serviceOf(session: FakeChat, caller: Partial<Caller> = {}, options: HandlerOptions = {}): Handler {
  const whole: Caller = { id: 'ada', principal: 'all', scopes: ['runs:read', 'runs:write', 'approvals:decide'], ...caller };
  return createHandler(session.client(), { authenticate: () => whole, onError: () => undefined, ...options });
}

/** Returns a fetch that calls a handler, as a browser would. */
export function fetchFrom(handler: Handler): typeof fetch {
  return async (input, init) => handler(new Request(new URL(input instanceof Request ? input.url : input, 'http://localhost'), init));
}

/** A page with a chat, made of the classes of the AI SDK. */
export function pageOf(
  handler: Handler,
  {
    id = 'c1',
    messages = [],
    sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses,
    onData,
  }: Pick<ChatInit<UIMessage>, 'id' | 'messages' | 'sendAutomaticallyWhen' | 'onData'> = {},
): Chat<UIMessage> & {
  events: string[];
} {
  const events: string[] = [];
  const transport = new DefaultChatTransport<UIMessage>({ api: '/v1/agents/clerk/chat', fetch: fetchFrom(handler) });
  const chat = new Chat<UIMessage>({
    id,
    messages,
    transport,
    sendAutomaticallyWhen,
    onData: (part) => {
      events.push(part.type);
      onData?.(part);
    },
    onFinish: ({ finishReason, isDisconnect, isError }) => {
      events.push(isDisconnect ? 'disconnected' : isError ? 'error' : `finished: ${finishReason}`);
    },
  });
  return Object.assign(chat, { events });
}

/** The texts of the last message. */
export function textOf({ messages }: { messages: UIMessage[] }): string {
  return (messages.at(-1)?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The id of the approval that the last part of a message asks for. */
export function approvalIn(message: UIMessage | undefined): string {
  const part = message?.parts.at(-1);
  return part !== undefined && 'approval' in part ? (part.approval?.id ?? '') : '';
}
