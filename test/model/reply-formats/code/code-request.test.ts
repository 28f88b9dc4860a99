import { expect, test } from 'vitest';
import { buildRequest } from '../../../../src/model/build-request.ts';
import type { ConversationEvent } from '../../../../src/core/domain/model.ts';
import { codeAgent } from './code-agent.ts';
import { messageTexts } from '../message-texts.ts';

const ask: ConversationEvent = { author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] };

/** A reply with a block of code, and the result of its cell. */
function cell(number: number, status: 'success' | 'error', text: string): ConversationEvent[] {
  const toolCallId = `c${number}`;
  return [
    {
      author: 'bot',
      content: [
        { type: 'message', role: 'assistant', content: `\`\`\`js\n${number}\n\`\`\`` },
        { type: 'tool_call', toolCallId, name: 'run_code', arguments: {} },
      ],
    },
    { author: 'bot', content: [{ type: 'tool_result', toolCallId, name: 'run_code', status, content: [text] }] },
  ];
}

function cells(count: number): ConversationEvent[] {
  return Array.from({ length: count }, (_, index) => cell(index + 1, 'success', `${index + 1}`.repeat(200))).flat();
}

test('the provider gets no tools: an instruction describes the format and the functions', () => {
  const request = buildRequest(codeAgent('python'), [ask], false);
  expect(request.tools).toEqual([]);
  expect(request.settings).toEqual({});
  expect(request.instructions[0]).toBe('Be exact.');
  for (const part of ['```python', 'final_answer(', 'add(', 'Add two numbers.', 'math', 'store(', 'recall(', 'observe(', 'uncertain(']) {
    expect(request.instructions[1]).toContain(part);
  }
});

test('replies are rendered as their text, results as observations, errors unchanged', () => {
  expect(
    messageTexts(buildRequest(codeAgent(), [ask, ...cell(1, 'success', 'p'), ...cell(2, 'error', 'Execution error: x')], false)),
  ).toEqual(['user: Q', 'assistant: ```js\n1\n```', 'user: Observation: p', 'assistant: ```js\n2\n```', 'user: Execution error: x']);
});

test('a call in the own way of the provider is rendered as its block', () => {
  const call: ConversationEvent = {
    author: 'bot',
    content: [{ type: 'tool_call', toolCallId: 'c1', name: 'run_code', arguments: { code: 'print(1)' } }],
  };
  const result: ConversationEvent = {
    author: 'bot',
    content: [{ type: 'tool_result', toolCallId: 'c1', name: 'run_code', status: 'success', content: [] }],
  };
  expect(messageTexts(buildRequest(codeAgent(), [ask, call, result], false)).slice(1)).toEqual([
    'assistant: ```javascript\nprint(1)\n```',
    'user: Observation: (no output)',
  ]);
});

test('the model sees the last five steps, or those that the agent keeps', () => {
  const kept = (snapshot = codeAgent()): string[] => messageTexts(buildRequest(snapshot, [ask, ...cells(7)], false));
  expect(kept()).toHaveLength(1 + 2 * 5);
  expect(kept()[0]).toBe('user: Q');
  expect(kept()[1]).toContain('3');
  expect(kept(codeAgent('javascript', { prune: { strategy: 'last_steps', keep: 0 } }))).toEqual(['user: Q']);
  expect(kept(codeAgent('javascript', { prune: { strategy: 'none' } }))).toHaveLength(1 + 2 * 7);
});

test('old observations may be cut instead', () => {
  const pruned = messageTexts(
    buildRequest(codeAgent('javascript', { prune: { strategy: 'old_observations' } }), [ask, ...cells(5)], false),
  );
  expect(pruned).toHaveLength(1 + 2 * 5);
  expect(pruned[2]).toBe(`user: Observation: ${'1'.repeat(100)}...`);
  expect(pruned[10]).toBe(`user: Observation: ${'5'.repeat(200)}`);
});

test('the final attempt asks for text, because nothing runs', () => {
  const request = buildRequest(codeAgent(), [ask, ...cells(1)], true);
  expect(messageTexts(request).at(-1)).toBe('user: Return your best final answer now, as text without code.');
  expect(request.settings.temperature).toBe(0);
});
