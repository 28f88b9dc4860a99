import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agentApprovals, requirementFrom } from '../../src/define/approvals.ts';
import { defineAgent } from '../../src/define/define-agent.ts';
import { askHuman, defineTool } from '../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../src/define/tool-definition.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import { executeTool } from '../../activities/tool-calls/execute-tool.ts';
import type { RunContext } from '../../src/define/context.ts';
import { snapshotOf } from '../fakes/snapshot.ts';

function approvalOf(approval: unknown): ToolDefinition['approval'] {
  const tool = defineTool({
    name: 'refund',
    description: 'Refunds.',
    parameters: z.object({ cents: z.int() }),
    execute: () => 'done',
    approval: approval as 'always',
  });
  return tool.approval;
}

describe('a tool', () => {
  test('that has no approval option, or "never", needs no approval', () => {
    expect(approvalOf(undefined)).toBeUndefined();
    expect(approvalOf('never')).toBeUndefined();
  });

  const large = ({ cents }: { cents: number }): boolean => cents > 1_000;

  test.each([
    ['always', { when: 'always' }],
    [{}, { when: 'always' }],
    [{ deadline: '2d' }, { when: 'always', deadlineMs: 172_800_000 }],
    [
      { when: 'always', deadline: '30m', onDeadline: 'approve' },
      { when: 'always', deadlineMs: 1_800_000, onDeadline: 'approve' },
    ],
    [large, { when: large }],
    [
      { when: large, onDeadline: 'reject' },
      { when: large, onDeadline: 'reject' },
    ],
  ])('may need approval according to %j', (approval, expected) => {
    expect(approvalOf(approval)).toEqual(expected);
  });

  test.each([
    [true, '"approval" is true: write "always", "never", a function, or {when, deadline, onDeadline}'],
    [null, '"approval" is null: write "always", "never", a function, or {when, deadline, onDeadline}'],
    ['sometimes', '"approval" is "sometimes": write "always", "never", a function, or {when, deadline, onDeadline}'],
    [{ when: 'never' }, '"approval.when" is "never": write "always" or a function, or leave "approval" out'],
    [{ when: true }, '"approval.when" is true: write "always" or a function, or leave "approval" out'],
    [{ timeout: '1h' }, '"approval" has an unknown option "timeout" (known: when, deadline, onDeadline)'],
    [{ deadline: 'soon' }, '"approval.deadline" is "soon": write milliseconds (at least 1), or a text such as "30s", "5m", "1h"'],
    [{ deadline: 0 }, '"approval.deadline" is 0: write milliseconds (at least 1), or a text such as "30s", "5m", "1h"'],
    [{ onDeadline: 'deny' }, '"approval.onDeadline" is "deny": write "approve" or "reject"'],
  ])('with the approval option %j is refused where it is defined', (approval, problem) => {
    expect(() => approvalOf(approval)).toThrow(new UsageError(`tool "refund": ${problem}`));
  });

  test('cannot have the name under which a limit waits for approval', () => {
    const limit = { name: 'raise_limits', description: 'd', parameters: z.object({}), execute: () => null };
    expect(() => defineTool(limit)).toThrow(new UsageError('tool "raise_limits": this name is reserved: give the tool another one'));
  });
});

describe('an agent', () => {
  const BASE = { name: 'clerk', model: 'p/m' as const };

  test('may give a deadline to all its approvals', () => {
    expect(defineAgent({ ...BASE, approvals: { deadline: '1h', onDeadline: 'approve' } }).approvals).toEqual({
      deadlineMs: 3_600_000,
      onDeadline: 'approve',
    });
  });

  test('does not have a deadline by default', () => {
    expect(defineAgent(BASE)).not.toHaveProperty('approvals');
    expect(defineAgent({ ...BASE, approvals: {} })).not.toHaveProperty('approvals');
  });

  test.each([
    [{ deadline: -1 }, '"approvals.deadline" is -1: write milliseconds (at least 1), or a text such as "30s", "5m", "1h"'],
    [{ onDeadline: 'ask' }, '"approvals.onDeadline" is "ask": write "approve" or "reject"'],
    [{ when: 'always' }, '"approvals" has an unknown option "when" (known: deadline, onDeadline)'],
  ])('with the option approvals: %j is refused', (approvals, problem) => {
    expect(() => agentApprovals('agent "clerk"', approvals as object)).toThrow(new UsageError(`agent "clerk": ${problem}`));
  });
});

describe('the result of a predicate', () => {
  test.each([
    [false, undefined],
    [true, {}],
    [{}, {}],
    [{ reason: 'over the limit' }, { reason: 'over the limit' }],
    [
      { reason: 'large', deadline: '1m', onDeadline: 'approve' },
      { reason: 'large', deadlineMs: 60_000, onDeadline: 'approve' },
    ],
  ])('%j is accepted', (answer, terms) => {
    expect(requirementFrom('tool "refund"', answer)).toEqual(terms);
  });

  test.each([
    [undefined, 'what "approval" returned is undefined: return true, false, or {reason, deadline, onDeadline}'],
    [1, 'what "approval" returned is 1: return true, false, or {reason, deadline, onDeadline}'],
    [[], 'what "approval" returned is []: return true, false, or {reason, deadline, onDeadline}'],
    [{ why: 'x' }, 'what "approval" returned has an unknown option "why" (known: reason, deadline, onDeadline)'],
    [{ reason: 7 }, 'what "approval" returned has the reason 7: write a text'],
    [{ deadline: 'x' }, '"approval().deadline" is "x": write milliseconds (at least 1), or a text such as "30s", "5m", "1h"'],
  ])('%j is an error that names the mistake', (answer, problem) => {
    expect(() => requirementFrom('tool "refund"', answer)).toThrow(new UsageError(`tool "refund": ${problem}`));
  });
});

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
