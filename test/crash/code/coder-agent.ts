import { z } from 'zod';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { ToolPolicyOptions } from '../../../src/define/tool-definition.ts';
import { defineAgent, defineTool, quickjs, type RunContext } from '../../../src/index.ts';
import type { Ledger } from '../processes/ledger.ts';
import { effectOf } from './coder-script.ts';

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
