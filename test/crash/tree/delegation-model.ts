import { isToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';
import { PUBLISH, REFUND } from './delegation.ts';

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
