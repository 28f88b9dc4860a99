import { isToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The answers by text in the prompt. The first match is given. */
const ANSWERS: readonly [prompt: RegExp, answer: string | object][] = [
  [/^Sort the order of a lamp\. stamp: done$/, { kind: 'refund', parts: ['lid', 'bulb', 'foot'] }],
  [/^Check the claim\n\nPrevious attempt failed: .*citation/is, 'It is broken [1].'],
  [/^Check the claim$/, 'It is broken.'],
  [/^Describe the (lid|bulb|foot)$/, 'It is fine.'],
  [/^Polish, round 3$/, { score: 1 }],
  [/^Polish, round [12]$/, { score: 0.5 }],
  [/^Audit the lamp\. weigh: done$/, 'It is right.'],
  [/^Send it by post\n\nPrevious attempt failed: .*Name the price/s, 'Sent for 30 euros.'],
  [/^Send it by post$/, 'Sent.'],
];

/** The calls of the agent, step by step. The step after these is its answer. */
const LETTER: readonly RawToolCall[] = [call('look', 'd1'), call('seal', 'd2')];

/** A model whose answer depends on the conversation alone. `asked` is called at the beginning of each call. */
export function errandModel(asked: () => void): ModelClient {
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
  if (prompt === 'Write about a refund') return letter(conversation);
  const [, answer] = ANSWERS.find(([fitting]) => fitting.test(prompt)) ?? [];
  if (answer === undefined) throw new Error(`The program asked for what no other run of it asks: ${prompt}`);
  return said(answer);
}

function letter(conversation: ModelRequest['conversation']): ModelResponse {
  const toolCall = LETTER[conversation.filter(({ content }) => content.some(isToolCall)).length];
  if (toolCall === undefined) return said({ letter: 'Dear Ann' });
  return { content: '', toolCalls: [toolCall], usage: USAGE, finishReason: 'tool_calls' };
}

function said(answer: string | object): ModelResponse {
  const content = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return { content, toolCalls: [], usage: USAGE, finishReason: 'stop' };
}

function call(name: string, id: string): RawToolCall {
  return { id, name, arguments: {} };
}
