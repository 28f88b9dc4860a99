import { z } from 'zod';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { ToolPolicyOptions } from '../../src/define/tool-definition.ts';
import { defineAgent, defineTool, quickjs, type RunContext } from '../../src/index.ts';
import type { Ledger } from './processes/ledger.ts';
import { isToolCall } from '../../src/core/domain/content.ts';
import { RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import type { ModelClient } from '../../src/core/domain/model.ts';

/** The cells of the run, one for each step. The step after these is the answer. */
export const CELLS: readonly string[] = [
  // Two calls together, whose results the next cells use.
  `const found = await Promise.all([1, 2].map((n) => tools.look_up({ n })));
print(found.join());`,
  // Local calls in a loop.
  `let noted = 0;
for (const text of found) noted += note({ text }).length;
print(noted);`,
  // A call that must happen once.
  `let paid;
try {
  paid = charge({ n: found.length });
} catch (error) {
  paid = error.message;
}
print(paid);`,
  // A call that a person decides about.
  `const refunded = refund({ n: found.length });
print(refunded);`,
  // A cell that fails, and keeps its changes.
  `found.push('third');
throw new Error('on purpose');`,
  // A callback that waits for calls.
  `const sorted = [3, 1, 2].sort((one, other) => look_up({ n: one }).length + one - look_up({ n: other }).length - other);
print(found.join(), sorted.join(), paid, refunded, noted);
final_answer({ found, sorted });`,
];

/** The call that needs a decision: the first call of the fourth cell. */
export const REFUND = 'c4.1';

/** The name of the effect of a call in the ledger. */
function effectOf(tool: string, callId: string): string {
  return `${tool} ${callId}`;
}

/** The effects that are there at the end of every run, however it was disturbed. */
export const EFFECTS: readonly string[] = ['look_up c1.1', 'look_up c1.2', 'note c2.1', 'note c2.2', 'refund c4.1'];

/** The effect of the call that must happen once. If its worker dies during it, the code is told the outcome. */
export const CHARGE = 'charge c3.1';

/** The name of the agent whose answers are run as code. */
export const CODER = 'coder';

/** A machine that is busy with crashes may miss more heartbeats than the killed process's. */
const TRIED_OFTEN = { maxAttempts: 10, backoff: { initial: 50 } };

/** An agent whose code calls tools of every kind. `onceTimeoutMs`: the time without a heartbeat after which a call is given up. */
export function coderAgent(ledger: Ledger, onceTimeoutMs: number): AnyAgent {
  const tool = (name: string, special: ToolPolicyOptions<Record<string, unknown>> & { approval?: 'always' } = {}) =>
    defineTool({
      name,
      description: `Does ${name}`,
      parameters: z.object({ n: z.number().optional(), text: z.string().optional() }),
      ...(special.effect === 'once' ? {} : TRIED_OFTEN),
      ...special,
      execute: ({ n, text }, { runId, callId, idempotencyKey }: RunContext) => {
        ledger.act({ runId, effect: effectOf(name, callId), key: idempotencyKey });
        return `${name} ${text ?? n}`;
      },
    });
  return defineAgent({
    name: CODER,
    model: 'coder/model',
    tools: [
      tool('look_up'),
      tool('note', { tier: 'local' }),
      tool('charge', {
        effect: 'once',
        heartbeatTimeout: onceTimeoutMs,
        verify: (key) => ({ happened: ledger.has(key), result: 'charge 2' }),
      }),
      tool('refund', { approval: 'always' }),
    ],
    code: { executor: quickjs({ limits: { timeoutSeconds: 10 } }), tier: 'local' },
  });
}

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** A model that requests cells in sequence. Its answer depends on the conversation alone. */
export function coderModel(): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: ({ conversation }) => {
      const asked = conversation.filter(({ content }) => content.some(isToolCall)).length;
      const code = CELLS[asked];
      const calls = code === undefined ? [] : [{ id: `c${asked + 1}`, name: RUN_CODE, arguments: { code } }];
      return Promise.resolve({
        content: code === undefined ? 'Done.' : '',
        toolCalls: calls,
        usage: USAGE,
        finishReason: code === undefined ? 'stop' : 'tool_calls',
      });
    },
  };
}
