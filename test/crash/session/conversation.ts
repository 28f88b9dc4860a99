import { z } from 'zod';
import type { SessionInput } from '../../../src/core/domain/run-input.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { defineAgent, defineTool, type RunContext } from '../../../src/index.ts';
import type { Act } from '../processes/ledger.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { RECALL_FRAME } from '../../../src/core/domain/memory.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';

/** The name of the agent of the session. */
export const ATTENDANT = 'attendant';

/** The name of the same agent in bursts. */
export const BURSTING_ATTENDANT = 'quick_attendant';

/** How an agent makes its steps, with its name. */
interface Pace {
  name: string;
  burst?: { steps: number; seconds: number };
}

/** The messages of the session, in order. Each is answered by a turn of its number. The one of `interrupted` is not answered: its model never does. */
export const MESSAGES = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7'] as const;

/** The messages: one needs a tool, one needs an approval, and one has a turn that is interrupted. */
export const LOOKS_UP = 'm2';
export const REFUNDS = 'm3';
export const INTERRUPTED = 'm5';

/**
 * A message whose turn stores two entries in the memory, and one whose turn gets the first entry and removes it. Between them a caller has
 * the agent resolved again.
 */
export const REMEMBERS = 'm6';
export const FORGETS = 'm7';

/** The keys of the entries. A message finds the entries whose keys contain it. */
export const FORGOTTEN_KEY = `note for ${FORGETS}`;
export const KEPT_KEY = 'note for later';

/** The first message that is refused, until the limit of the session is raised. */
export const REFUSED = 'm4';

/** The turns before it, after which the conversation is also compacted. */
const BEFORE_REFUSED = 3;

/** The terms of the session. */
export const TERMS = { limits: { turns: BEFORE_REFUSED }, compactAfter: BEFORE_REFUSED } satisfies SessionInput;

/** The effects of the tools. */
export const EFFECTS: readonly string[] = ['look_up m2', 'refund m3'];

/** Attempts that are lost with their worker are made again soon. */
const TRIED_OFTEN = { maxAttempts: 10, backoff: { initial: 50 } };

/** Returns the answer to a message. */
export function answerTo(message: string): string {
  return `${message} is done. ${'We have seen to it, and wrote it down. '.repeat(10)}`;
}

/** The agent of the session in bursts: each has as many steps as the calls that it may make let it have. */
export function burstingAttendant(act: (act: Act) => void): AnyAgent {
  return attendant(act, { name: BURSTING_ATTENDANT, burst: { steps: 16, seconds: 60 } });
}

/** The agent of the session. `act` records the effect of a tool. */
export function attendant(act: (act: Act) => void, pace: Pace = { name: ATTENDANT }): AnyAgent {
  const made = (name: string, special: { approval?: 'always' } = {}) =>
    defineTool({
      name,
      description: `Does ${name}`,
      parameters: z.object({}),
      ...TRIED_OFTEN,
      ...special,
      execute: (_args, { runId, callId, idempotencyKey: key }: RunContext) => {
        act({ runId, effect: `${name} ${callId}`, key });
        return `${name}: done`;
      },
    });
  return defineAgent({
    ...pace,
    model: 'attendant/scripted',
    memory: true,
    tools: [made('look_up'), made('refund', { approval: 'always' })],
  });
}

type ToolCall = ModelResponse['toolCalls'][number];

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The calls by the messages that need them. */
const NEEDED: Partial<Record<string, ToolCall[]>> = {
  [LOOKS_UP]: [{ id: LOOKS_UP, name: 'look_up', arguments: {} }],
  [REFUNDS]: [{ id: REFUNDS, name: 'refund', arguments: {} }],
  [REMEMBERS]: [
    { id: REMEMBERS, name: 'remember', arguments: { key: FORGOTTEN_KEY, value: 'a window seat' } },
    { id: `${REMEMBERS} too`, name: 'remember', arguments: { key: KEPT_KEY, value: 'no nuts' } },
  ],
  [FORGETS]: [{ id: FORGETS, name: 'forget', arguments: { key: FORGOTTEN_KEY } }],
};

/** A model whose answer depends on the conversation alone. `asked` is called at the beginning of each call. */
export function attendantModel(asked: () => void): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request, { signal }) => {
      asked();
      const items = request.conversation.flatMap(({ content }) => content);
      return newestText(items) === INTERRUPTED ? untilAborted(signal) : Promise.resolve(respond(request));
    },
  };
}

function respond({ conversation }: ModelRequest): ModelResponse {
  const items = conversation.flatMap(({ content }) => content);
  const newest = newestText(items);
  // A request for a summary ends with its instruction.
  if (!/^m\d$/.test(newest)) return { content: 'They asked, and it was done.', toolCalls: [], usage: USAGE, finishReason: 'stop' };
  const toolCalls = NEEDED[newest];
  if (toolCalls !== undefined && !hasResult(items, newest)) return { content: '', toolCalls, usage: USAGE, finishReason: 'tool_calls' };
  return { content: answerTo(newest), toolCalls: [], usage: USAGE, finishReason: 'stop' };
}

function newestText(items: readonly ContentItem[]): string {
  const texts = items.flatMap((item) =>
    item.type === 'message' && item.role === 'user' && typeof item.content === 'string' ? [item.content] : [],
  );
  return texts.findLast((text) => !text.startsWith(RECALL_FRAME)) ?? '';
}

function hasResult(items: readonly ContentItem[], callId: string): boolean {
  return items.some((item) => item.type === 'tool_result' && item.toolCallId === callId);
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
