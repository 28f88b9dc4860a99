import { setTimeout as pause } from 'node:timers/promises';
import type { ModelClient, ModelRequest, RawToolCall } from 'longhaul';

/** The responses of an agent, by how its instructions begin: the calls of each, or a text. */
const RESPONSES: readonly [instructions: string, responses: readonly (string | RawToolCall[])[]][] = [
  ['You hand each customer over', [[call('transfer_to_agent', { agent: 'refund_desk' })]]],
  [
    'You answer customers',
    [
      [call('load_skill', { skill: 'refunds' })],
      [
        call('researcher', { request: 'Order 42 arrived broken: what do we owe?' }),
        call('read_skill_file', { skill: 'refunds', path: 'answer.md' }),
      ],
      [call('delete_order', { order: 42 }), call('cashier', { request: 'Pay €80 for order 42' })],
      'We are sorry that your lamp arrived broken. You get €80 back within three days.',
    ],
  ],
  [
    'You find out',
    [
      [call('order_reader', { request: 'Order 42' }), call('rule_reader', { request: 'Broken articles' })],
      'Order 42 is a lamp for €80, delivered nine days ago. It is paid back in full.',
    ],
  ],
  ['You read orders', [[call('find_order', { order: 42 })], 'A lamp for €80, delivered nine days ago.']],
  ['You read the rules', [[call('find_rule', { topic: 'broken' })], 'Paid back in full for 30 days.']],
  ['You pay refunds', [[call('refund', { order: 42, amount: 80 })], 'Paid.']],
];

/** Creates a model that answers by a script, after a pause. */
export function scriptedModel({ pauseMs = 0 }: { pauseMs?: number } = {}): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: async (request, { signal }) => {
      await pause(pauseMs, undefined, { signal });
      const response = nextResponse(request);
      const [content, toolCalls] = typeof response === 'string' ? [response, []] : ['', response];
      const finishReason = toolCalls.length === 0 ? 'stop' : 'tool_calls';
      return { content, toolCalls, usage: { promptTokens: 200, completionTokens: 20, totalTokens: 220 }, finishReason };
    },
  };
}

/** Returns the response after those that the agent has given: a conversation may have responses of others too. */
function nextResponse({ instructions, conversation }: ModelRequest): string | RawToolCall[] {
  const [, responses = []] = RESPONSES.find(([begin]) => instructions[0]?.startsWith(begin)) ?? [];
  const names = new Set(responses.flatMap((one) => (typeof one === 'string' ? [] : one.map(({ name }) => name))));
  const given = conversation.filter(({ content }) => content.some((item) => item.type === 'tool_call' && names.has(item.name)));
  return responses[given.length] ?? 'I am a scripted model and can only answer the question of the demo.';
}

function call(name: string, args: object): RawToolCall {
  return { id: `call_${name}`, name, arguments: args };
}
