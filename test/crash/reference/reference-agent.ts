import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { ToolPolicyOptions } from '../../../src/define/tool-definition.ts';
import { contextUpdate, defineAgent, defineTool, mcpServer, type RunContext, withUpdate } from '../../../src/index.ts';
import type { Ledger } from '../processes/ledger.ts';
import { effectOf, answerOf, SCRIPT } from './reference-script.ts';
import { isToolCall } from '../../../src/core/domain/content.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';

const deps = z.object({ customer: z.string(), rank: z.string(), visits: z.array(z.string()).optional() });
type Deps = z.output<typeof deps>;

/** The name of the same agent in bursts. */
export const BURSTING = 'quick_clerk';

const SCALES = fileURLToPath(new URL('scales-server.ts', import.meta.url));

/** The name of the agent whose runs are disturbed. */
export const AGENT = 'clerk';

/** A machine that is busy with crashes may miss more heartbeats than the killed process's. */
const TRIED_OFTEN = { maxAttempts: 10, backoff: { initial: 50 } };

/** How an agent makes its steps, with its name. */
interface Pace {
  name: string;
  burst?: { steps: number; seconds: number };
}

/** Options of a tool of the agent that differ from the others. */
interface Special extends ToolPolicyOptions<Deps> {
  approval?: 'always';
  category?: 'read';
  gives?: (context: RunContext<Deps>) => unknown;
}

/**
 * The agent of the reference run: tools of every kind, each of which records its effect in the ledger. `onceTimeoutMs`: a call with effect
 * `once` is given up after this time without a heartbeat.
 */
export function referenceAgent(ledger: Ledger, onceTimeoutMs: number, pace: Pace = { name: AGENT }): AnyAgent {
  const tool = (name: string, { gives = () => `${name}: done`, ...special }: Special = {}) =>
    defineTool({
      name,
      description: `Does ${name}`,
      parameters: z.object({}),
      ...(special.effect === 'once' ? {} : TRIED_OFTEN),
      ...special,
      execute: (_args, context: RunContext<Deps>) => {
        ledger.act({ runId: context.runId, effect: effectOf(name, context.callId), key: context.idempotencyKey });
        return gives(context);
      },
    });
  const once = { effect: 'once', heartbeatTimeout: onceTimeoutMs } as const;
  const charged = 'charge: done';
  const update = contextUpdate<Deps>().set('rank', 'gold').append('visits', 'today');
  return defineAgent({
    ...pace,
    // The first one never answers. Later calls of the turn go to the second one at once.
    model: [`reference/${ABSENT}`, 'reference/clerk'],
    fallback: { coolDown: 0 },
    deps,
    output: z.object({ done: z.array(z.string()), unclear: z.array(z.string()) }),
    tools: [
      tool('look_up', { category: 'read' }),
      tool('note', { tier: 'local' }),
      tool('reserve'),
      tool('charge', { ...once, verify: (key) => (ledger.has(key) ? { happened: true, result: charged } : { happened: false }) }),
      tool('post_letter', once),
      tool('refund', { approval: 'always' }),
      tool('promote', { gives: () => withUpdate('promote: done', update) }),
      tool('greet', { gives: ({ deps: { customer, rank } }) => `Hello ${customer}, with ${rank}` }),
      tool('quote', { tier: 'local', gives: ({ deps: { rank } }) => `The price for ${rank}` }),
    ],
    mcp: [mcpServer({ name: 'scales', command: process.execPath, args: [SCALES, ledger.path], ...TRIED_OFTEN })],
  });
}

/** The reference agent in bursts: each has as many steps as the calls that it may make let it have. */
export function burstingAgent(ledger: Ledger, onceTimeoutMs: number): AnyAgent {
  return referenceAgent(ledger, onceTimeoutMs, { name: BURSTING, burst: { steps: 16, seconds: 60 } });
}

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The name of a model that never answers. */
const ABSENT = 'absent';

/**
 * Models whose answers depend on the conversation alone: they are the same for every worker and every repetition. `movesOn` is called in an
 * attempt where one model has failed and the next one is called.
 */
export function referenceModel(movesOn: () => void): ModelClient {
  let hasFailed = false;
  return {
    capabilities: { structuredOutput: true },
    call: async (request) => {
      if (request.model === ABSENT) {
        hasFailed = true;
        throw new ModelCallError('model_server_error', 'It is down');
      }
      if (hasFailed) movesOn();
      hasFailed = false;
      return respond(request);
    },
  };
}

function respond({ conversation }: ModelRequest): ModelResponse {
  const asked = conversation.filter(({ content }) => content.some(isToolCall)).length;
  const toolCalls = SCRIPT[asked];
  if (toolCalls !== undefined) return { content: `step ${asked + 1}`, toolCalls: [...toolCalls], usage: USAGE, finishReason: 'tool_calls' };
  const results = conversation.flatMap(({ content }) => content).filter((item) => item.type === 'tool_result');
  return { content: JSON.stringify(answerOf(results)), toolCalls: [], usage: USAGE, finishReason: 'stop' };
}
