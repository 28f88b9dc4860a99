import { z } from 'zod';
import { MOVES_ON } from '../../src/core/domain/fallback.ts';
import { type ErrorCode, ModelCallError } from '../../src/core/domain/errors.ts';
import type { ModelClient } from '../../src/core/domain/model.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { defineAgent, defineTool, type RunContext } from '../../src/index.ts';
import type { Act } from './processes/ledger.ts';

/** The agents: one keeps to the model that has answered until the turn ends, and one asks the first one again with each call. */
export const STEADFAST = 'steadfast';
export const RETURNING = 'returning';

/** Their models. The first one fails in each turn, and the second one answers. */
export const FIRST = 'outages/first';
export const SECOND = 'outages/second';

/** A failure of the first model: without a byte of an answer, or in the middle of one. */
interface Outage {
  code: ErrorCode;
  when: 'before' | 'middle';
  /** The message of its turn. */
  message: string;
}

/** Every failure that makes the next model be called, at both moments. Each has a turn. */
export const OUTAGES: readonly Outage[] = MOVES_ON.flatMap((code) =>
  (['before', 'middle'] as const).map((when) => ({ code, when, message: `${code} ${when}` })),
);

const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The effect of a turn's tool. */
export function effectOf(message: string): string {
  return `look_up ${message}`;
}

/** Returns the answer to a message. */
export function answerTo(message: string): string {
  return `${message}: answered nevertheless`;
}

/**
 * Both models: their answers depend on the conversation alone. `asked` is called when the second model is called, `movesOn` before that, in
 * an attempt where the first one has failed.
 */
export function failingModels({ asked, movesOn }: { asked: () => void; movesOn: () => void }): ModelClient {
  let hasFailed = false;
  return {
    capabilities: { structuredOutput: true },
    // Without a limit that is shared, no call waits for another one.
    rateLimitKey: () => undefined,
    call: async ({ model, conversation }, { onDelta, onUsage }) => {
      const items = conversation.flatMap(({ content }) => content);
      const texts = items.flatMap((item) => (item.type === 'message' && item.role === 'user' ? [item.content] : []));
      // A call of the second model, and its result, are sent to the first one as text.
      const last = texts.at(-1);
      const isToldInText = typeof last === 'string' && last.startsWith('[look_up returned: ');
      const outage = OUTAGES.find(({ message }) => message === texts.at(isToldInText ? -2 : -1));
      // Requests for a title or a summary have other words.
      if (outage === undefined) return { content: 'It went on.', toolCalls: [], usage: USAGE, finishReason: 'stop' };
      const { message, code, when } = outage;
      if (`outages/${model}` === FIRST && !isToldInText) {
        hasFailed = true;
        if (when === 'middle') {
          onDelta?.({ type: 'text', text: 'half of an ans' });
          onUsage?.(USAGE);
        }
        throw new ModelCallError(code, 'It is down');
      }
      if (hasFailed) movesOn();
      hasFailed = false;
      asked();
      const isLookedUp = isToldInText || items.some((item) => item.type === 'tool_result' && item.toolCallId === message);
      if (isLookedUp) return { content: answerTo(message), toolCalls: [], usage: USAGE, finishReason: 'stop' };
      const call = { id: message, name: 'look_up', arguments: {} };
      return { content: '', toolCalls: [call], usage: USAGE, finishReason: 'tool_calls' };
    },
  };
}

/** The agents of the sessions. `act` records the effect of their tool. */
export function agentsInOutages(act: (act: Act) => void): AnyAgent[] {
  return [agentInOutages(STEADFAST, 'turn', act), agentInOutages(RETURNING, 'call', act)];
}

function agentInOutages(name: string, returnAt: 'turn' | 'call', act: (act: Act) => void): AnyAgent {
  return defineAgent({
    name,
    model: [FIRST, SECOND],
    // Each turn, or each call, begins with the first one.
    fallback: { coolDown: 0, returnAt },
    tools: [
      defineTool({
        name: 'look_up',
        description: 'Looks something up',
        parameters: z.object({}),
        maxAttempts: 10,
        backoff: { initial: 50 },
        execute: (_args, { runId, callId, idempotencyKey: key }: RunContext) => {
          act({ runId, effect: effectOf(callId), key });
          return 'found';
        },
      }),
    ],
  });
}
