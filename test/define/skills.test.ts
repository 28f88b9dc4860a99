import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, quickjs } from '../../src/index.ts';

const tool = (name: string) => defineTool({ name, description: 'A tool', parameters: z.object({}), execute: () => 'done' });

test('an agent takes paths, file URLs, and paths with a predicate', () => {
  const match = (): boolean => true;
  const url = new URL('file:///skills/tone');
  expect(defineAgent({ name: 'clerk', model: 'openai/m', skills: ['./skills', url, { path: './review', match }] }).skills).toEqual([
    { path: './skills' },
    { path: 'file:///skills/tone' },
    { path: './review', match },
  ]);
  expect(defineAgent({ name: 'clerk', model: 'openai/m', skills: [] }).skills).toBeUndefined();
});

test('the tools of skills can be named by permissions and limits', () => {
  const agent = defineAgent({
    name: 'clerk',
    model: 'openai/m',
    skills: ['./skills'],
    permissions: { ask: ['load_skill'] },
    limits: { toolCallsByName: { read_skill_file: 3 } },
  });
  expect(agent.permissions).toMatchObject({ ask: [{ tool: 'load_skill' }] });
});

test.each<[string, object, string]>([
  ['no list', { skills: './skills' }, '"skills" is not a list: write ["./skills"]'],
  ['an empty path', { skills: [''] }, 'a path in "skills"'],
  ['a number', { skills: [1] }, 'is neither a path nor {path, match}'],
  ['another option', { skills: [{ path: 'a', when: 'now' }] }, '"when"'],
  ['no predicate', { skills: [{ path: 'a', match: 'refund' }] }, '"match" is not a function'],
  ['a URL of the web', { skills: [new URL('https://example.com/skill')] }, 'which is not a file URL'],
  ['a tool of that name', { skills: ['a'], tools: [tool('load_skill')] }, 'has a tool named "load_skill", which its "skills" give it'],
  ['answers in code', { skills: ['a'], tools: [tool('look')], code: { executor: quickjs() }, replyFormat: 'code' }, 'answers in code'],
])('%s is refused', (_, options, problem) => {
  expect(() => defineAgent({ name: 'clerk', model: 'openai/m', ...options } as never)).toThrow(problem);
});
