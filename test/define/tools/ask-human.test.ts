import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { executeTool } from '../../../activities/tool-calls/execute-tool.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { askHuman } from '../../../src/define/define-tool.ts';
import type { RunContext } from '../../../src/define/context.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';

const BASE = { name: 'ask_support', description: 'Asks a colleague.', answer: z.string() };

test('a question always waits, and the model writes it in full', () => {
  const tool = askHuman(BASE);
  expect(tool).toMatchObject({
    kind: 'longhaul.tool',
    name: 'ask_support',
    schema: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
    approval: { when: 'always', onDeadline: 'reject' },
    answer: { type: 'string' },
  });
  expect(tool.approval).not.toHaveProperty('deadlineMs');
});

test('a question may have parameters, a form as its answer, and a deadline', () => {
  const tool = askHuman({
    ...BASE,
    parameters: z.object({ order: z.int(), urgent: z.boolean().optional() }),
    answer: z.object({ refund: z.boolean(), note: z.string().optional() }),
    deadline: '2d',
  });
  expect(tool.schema).toMatchObject({ required: ['order'] });
  expect(tool.answer).toEqual({
    type: 'object',
    properties: { refund: { type: 'boolean' }, note: { type: 'string' } },
    required: ['refund'],
  });
  expect(tool.approval).toEqual({ when: 'always', onDeadline: 'reject', deadlineMs: 172_800_000 });
});

test('a question of an agent whose calls are approved at their deadline is rejected there nevertheless', () => {
  const agent = defineAgent({ name: 'clerk', model: 'p/m', tools: [askHuman(BASE)], approvals: { deadline: '1h', onDeadline: 'approve' } });
  const { approvals, tools } = snapshotOf(agent);
  expect({ ...approvals, ...tools[0]?.approval }).toEqual({ when: 'always', deadlineMs: 3_600_000, onDeadline: 'reject' });
});

test('the tool of a question, if it is run nevertheless, throws an error', async () => {
  const context = { signal: new AbortController().signal } as RunContext;
  const executed = await executeTool({ tool: askHuman(BASE), args: { question: 'May I?' }, context });
  expect(executed).toMatchObject({
    isError: true,
    content: ['"ask_support" asks a person: its calls are answered with respond, and never run'],
  });
});

describe('an answer schema that could not be enforced is refused', () => {
  test.each([
    ['a date', z.object({ when: z.date() }), 'tool "ask_support": answer.when: dates cannot be represented in JSON'],
    ['a transform', z.string().transform(Number), 'tool "ask_support": answer: what a transform returns'],
    ['a refinement', z.string().refine((text) => text !== ''), 'tool "ask_support": answer has a check in code'],
    ['a refinement inside', z.object({ n: z.array(z.int().refine((n) => n % 2 === 0)) }), 'answer has a check in code'],
    ['a schema of another library', { type: 'string' } as unknown as z.ZodType, 'tool "ask_support": "answer" is not a schema of zod 4'],
  ])('%s', (_, answer, message) => {
    const define = (): unknown => askHuman({ ...BASE, answer });
    expect(define).toThrow(UsageError);
    expect(define).toThrow(message);
  });

  test.each([z.string().min(1).max(200), z.enum(['yes', 'no']), z.string().regex(/^\d+$/), z.array(z.email()).nonempty()])(
    'checks that JSON Schema can express are accepted: %#',
    (answer) => {
      expect(askHuman({ ...BASE, answer }).answer).toBeTypeOf('object');
    },
  );
});

test.each([
  [{ name: 'ask support' }, 'tool "ask support": providers refuse this name'],
  [{ description: '' }, 'tool "ask_support": "description" is ""'],
  [{ deadline: 'tomorrow' }, 'tool "ask_support": "deadline" is "tomorrow"'],
  [
    { onDeadline: 'approve' },
    'tool "ask_support" has an unknown option "onDeadline" (known: name, description, parameters, answer, deadline, callers)',
  ],
  [{ execute: () => null }, 'tool "ask_support" has an unknown option "execute"'],
  [{ parameters: z.string() }, 'tool "ask_support": parameters are not an object schema'],
])('%j is a usage error', (change, message) => {
  const define = (): unknown => askHuman({ ...BASE, ...change } as never);
  expect(define).toThrow(UsageError);
  expect(define).toThrow(message);
});
