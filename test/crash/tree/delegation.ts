import { z } from 'zod';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { agentTool, defineAgent, defineTool, type RunContext } from '../../../src/index.ts';
import { ofTopRun } from '../points/points.ts';
import type { Act } from '../processes/ledger.ts';
import { isToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';

/** The name of the agent at the root of the tree. */
export const CHIEF = 'chief';

/** The tools that wait for an approval, with the ids of their calls: one in the root, one in a descendant. */
const PUBLISH = { tool: 'publish', callId: 'p1' };
export const REFUND = { tool: 'refund', callId: 'f1' };

/** The effects of the tree, by the run and the call. */
export const EFFECTS: readonly string[] = [
  'note n1',
  'publish p1',
  'researcher.1.1: search s1',
  'researcher.1.2: search s1',
  'cashier.3.0: refund f1',
  'manager.3.1/researcher.1.0: search s1',
];

const MODEL = 'delegation/scripted';

/** Attempts that are lost with their worker are made again soon. */
const TRIED_OFTEN = { maxAttempts: 10, backoff: { initial: 50 } };

/** An agent that delegates to two others at once; one of them delegates further. `act` records the effect of a tool. */
export function delegation(act: (act: Act) => void): AnyAgent {
  const made = (name: string, special: { approval?: 'always' } = {}) =>
    defineTool({
      name,
      description: `Does ${name}`,
      parameters: z.object({}),
      ...TRIED_OFTEN,
      ...special,
      execute: (_args, context: RunContext) => {
        const { runId, point: effect } = ofTopRun(context.runId, `${name} ${context.callId}`);
        act({ runId, effect, key: context.idempotencyKey });
        return `${name}: done`;
      },
    });
  const researcher = defineAgent({ name: 'researcher', model: MODEL, tools: [made('search')] });
  const cashier = defineAgent({ name: 'cashier', model: MODEL, tools: [made(REFUND.tool, { approval: 'always' })] });
  const manager = defineAgent({ name: 'manager', model: MODEL, tools: [agentTool(researcher)] });
  return defineAgent({
    name: CHIEF,
    model: MODEL,
    limits: { totalTokens: 10_000 },
    tools: [
      made('note'),
      made(PUBLISH.tool, { approval: 'always' }),
      agentTool(researcher, { limits: { totalTokens: 500 } }),
      agentTool(cashier),
      agentTool(manager),
    ],
  });
}

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The calls of a conversation by how it begins, step by step. The step after them is its answer. */
const CALLS: readonly [beginning: string, calls: readonly (readonly RawToolCall[])[]][] = [
  [
    'See to the lamp',
    [
      [call('note', 'n1'), call('researcher', 'r1', 'Search for the lid'), call('researcher', 'r2', 'Search for the bulb')],
      [call('cashier', 'k1', 'Pay for the lamp'), call('manager', 'm1', 'Manage the foot')],
      [call(PUBLISH.tool, PUBLISH.callId)],
    ],
  ],
  ['Search', [[call('search', 's1')]]],
  ['Pay', [[call(REFUND.tool, REFUND.callId)]]],
  ['Manage', [[call('researcher', 'q1', 'Search for the foot')]]],
];

/** A model whose answer depends on the conversation alone. `asked` is called at the beginning of each call. */
export function delegationModel(asked: () => void): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request) => {
      asked();
      return Promise.resolve(respond(request));
    },
  };
}

function respond({ conversation }: ModelRequest): ModelResponse {
  const [first] = conversation.flatMap(({ content }) => content);
  const prompt = first?.type === 'message' && typeof first.content === 'string' ? first.content : '';
  const [, calls] = CALLS.find(([beginning]) => prompt.startsWith(beginning)) ?? [];
  if (calls === undefined) throw new Error(`An agent was asked for what no other run asks: ${prompt}`);
  const toolCalls = calls[conversation.filter(({ content }) => content.some(isToolCall)).length];
  if (toolCalls === undefined) return { content: `Done: ${prompt}`, toolCalls: [], usage: USAGE, finishReason: 'stop' };
  return { content: '', toolCalls: [...toolCalls], usage: USAGE, finishReason: 'tool_calls' };
}

function call(name: string, id: string, request?: string): RawToolCall {
  return { id, name, arguments: request === undefined ? {} : { request } };
}
