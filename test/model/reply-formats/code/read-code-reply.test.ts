import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelResponse, RecordedResponse } from '../../../../src/core/domain/model.ts';
import { finalValue } from '../../../../src/model/check-output.ts';
import { interpretReply } from '../../../../src/model/reply-formats.ts';
import { codeAgent } from './code-agent.ts';

function read(response: Partial<ModelResponse>, { snapshot = codeAgent(), final = false } = {}): RecordedResponse {
  let ids = 0;
  const whole = { content: '', toolCalls: [], usage: null, finishReason: 'stop', ...response };
  return interpretReply(
    whole,
    { snapshot, outputZod: undefined, isUsedCallId: () => false, eventId: 'event', uuid: () => `u${(ids += 1)}` },
    final,
  );
}

const message = (content: string) => ({ type: 'message', role: 'assistant', content });
const cell = { type: 'tool_call', toolCallId: expect.stringMatching(/^u/), name: 'run_code', arguments: {} };

test('a reply is recorded as its text and a call of run_code, so that its code is recorded once', () => {
  const content = 'I add.\n```js\nprint(add(1, 2))\n```';
  const recorded = read({ content });
  expect(recorded.content).toEqual([message(content), cell]);
  expect(recorded).not.toHaveProperty('problems');
});

test('a reply without a block has a problem that names the language', () => {
  const problem = (recorded: RecordedResponse): string[] => Object.values(recorded.problems ?? {});
  expect(problem(read({ content: 'I will compute it' }))).toEqual(['Please respond with a javascript block only.']);
  expect(problem(read({ content: '```\n\n```' }, { snapshot: codeAgent('python') }))).toEqual(['Please respond with a python block only.']);
  expect(read({}).content).toEqual([cell]);
});

test('code over the limit of a cell has a problem', () => {
  const { problems } = read({ content: `\`\`\`js\n${'x'.repeat(100_001)}\n\`\`\`` });
  expect(Object.values(problems ?? {})).toEqual([expect.stringContaining('expected at most 100000 characters')]);
});

test('a call in the own way of the provider is understood, too', () => {
  const { content } = read({ toolCalls: [{ id: 'c1', name: 'run_code', arguments: '{"code":"print(1)"}' }] });
  expect(content).toEqual([{ type: 'tool_call', toolCallId: 'c1', name: 'run_code', arguments: { code: 'print(1)' } }]);
});

test('in the final attempt the text is the answer, because nothing runs', () => {
  expect(read({ content: 'It is 3.' }, { final: true }).content).toEqual([message('It is 3.')]);
});

test('a refusal is not an attempt at the format', () => {
  expect(read({ refusal: 'No.' })).toMatchObject({ content: [message('')], refusal: 'No.' });
});

const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

test('without an output schema any final answer is the output', () => {
  expect(finalValue(null, undefined)).toEqual({ value: null });
});

test('a final answer is checked against the output schema, and gets its defaults', () => {
  const zod = z.object({ n: z.number(), unit: z.string().default('m') });
  expect(finalValue({ n: 1 }, { schema, zod: undefined })).toEqual({ value: { n: 1 } });
  expect(finalValue({ n: 1 }, { schema, zod })).toEqual({ value: { n: 1, unit: 'm' } });
  expect(finalValue({}, { schema, zod })).toEqual({
    problem: 'The final answer does not fit the required JSON Schema: missing required field "n"',
  });
});
