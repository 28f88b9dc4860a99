import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { AnyAgent, DepsOf, OutputOf } from '../../src/define/agent-definition.ts';
import type { ApprovalContext } from '../../src/define/approvals.ts';
import { askHuman, defineTool } from '../../src/define/define-tool.ts';
import { contextUpdate, type Resources, type RunContext } from '../../src/define/context.ts';
import { defineAgent } from '../../src/define/define-agent.ts';
import type { AnyTool, ToolDefinition } from '../../src/define/tool-definition.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import type { JsonObject } from '../../src/core/domain/json.ts';
import type { DefaultOutput } from '../../src/core/domain/result.ts';

const MODEL = { name: 'bot', model: 'scripted/model' } as const;

describe('a tool', () => {
  test('gets its arguments as zod parses them, and a context', () => {
    defineTool({
      name: 'search',
      description: 'Searches.',
      parameters: z.object({
        query: z.string(),
        limit: z.int().default(5),
        tags: z.array(z.string()).optional(),
        on: z.string().transform(Number),
      }),
      execute: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<{ query: string; limit: number; on: number; tags?: string[] | undefined }>();
        expectTypeOf(context).toEqualTypeOf<RunContext<Record<string, unknown>>>();
        return args.query;
      },
    });
  });

  test('takes strict objects and has the type of its result', () => {
    const tool = defineTool({
      name: 'count',
      description: 'Counts.',
      parameters: z.strictObject({ n: z.number() }),
      result: z.object({ n: z.number() }),
      execute: async ({ n }) => ({ n }),
    });
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<{ n: number }, Record<string, unknown>, Promise<{ n: number }>, Resources, 'count'>>();
    expectTypeOf(tool).toExtend<AnyTool>();
    expectTypeOf(tool).toExtend<ToolDefinition>();
  });

  test('declares the deps that it needs by the type of its context', () => {
    const tool = defineTool({
      name: 'whoami',
      description: 'Says who asks.',
      parameters: z.object({}),
      execute: (_, context: RunContext<{ userId: string }>) => context.deps.userId,
    });
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<Record<string, never>, { userId: string }, string, Resources, 'whoami'>>();
    defineAgent({ ...MODEL, tools: [tool], deps: z.object({ userId: z.string(), locale: z.string() }) });
    // @ts-expect-error The agent has no such deps.
    defineAgent({ ...MODEL, tools: [tool], deps: z.object({ locale: z.string() }) });
    // @ts-expect-error The agent has no deps at all.
    defineAgent({ ...MODEL, tools: [tool] });
  });

  test('decides on approval by its arguments and deps, with the types of `execute`', () => {
    const parameters = z.object({ cents: z.int().default(0) });
    defineTool({
      name: 'refund',
      description: 'Refunds.',
      parameters,
      execute: ({ cents }) => cents,
      approval: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<{ cents: number }>();
        expectTypeOf(context).toEqualTypeOf<ApprovalContext<Record<string, unknown>>>();
        return args.cents > 100 && { reason: 'large', deadline: '2d', onDeadline: 'reject' };
      },
    });
    const byDeps = defineTool({
      name: 'refund',
      description: 'Refunds.',
      parameters,
      execute: ({ cents }, _: RunContext<{ limit: number }>) => cents,
      approval: { when: async ({ cents }, { deps }) => cents > deps.limit, deadline: '1h' },
    });
    expectTypeOf(byDeps).toEqualTypeOf<ToolDefinition<{ cents: number }, { limit: number }, number, Resources, 'refund'>>();
    defineAgent({ ...MODEL, tools: [byDeps], deps: z.object({ limit: z.number() }) });
    // @ts-expect-error The agent has no such deps.
    defineAgent({ ...MODEL, tools: [byDeps] });
  });

  test('that reads deps only for its approval needs them', () => {
    const tool = defineTool({
      name: 'refund',
      description: 'Refunds.',
      parameters: z.object({}),
      execute: () => null,
      approval: (_, { deps }: ApprovalContext<{ limit: number }>) => deps.limit > 0,
    });
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<Record<string, never>, { limit: number }, null, Resources, 'refund'>>();
    defineAgent({ ...MODEL, tools: [tool], deps: z.object({ limit: z.number() }) });
    // @ts-expect-error The agent has no such deps.
    defineAgent({ ...MODEL, tools: [tool], deps: z.object({ userId: z.string() }) });
  });

  test('can only decide yes, no, or with options', () => {
    const options = { name: 't', description: 'd', parameters: z.object({}), execute: () => null };
    // @ts-expect-error A predicate decides, and names no approver.
    expect(defineTool({ ...options, approval: () => 'alice' }).approval).toBeDefined();
    // @ts-expect-error There are two: approve and reject.
    expect(() => defineTool({ ...options, approval: { onDeadline: 'deny' } })).toThrow(UsageError);
  });

  test('that is a schema alone knows its arguments and fits every agent', () => {
    const tool = defineTool({ name: 'order', description: 'Orders.', parameters: z.object({ pizza: z.string() }), execute: 'none' });
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<{ pizza: string }, Record<string, unknown>, unknown, Resources, 'order'>>();
    defineAgent({ ...MODEL, tools: [tool] });
    defineAgent({ ...MODEL, tools: [tool], deps: z.object({ userId: z.string() }) });
    // @ts-expect-error "none" is the only word.
    expect(() => defineTool({ name: 't', description: 'd', parameters: z.object({}), execute: 'never' })).toThrow(UsageError);
  });

  test('that asks a person has its own answer type, and fits every agent', () => {
    const tool = askHuman({ name: 'ask', description: 'Asks.', answer: z.object({ yes: z.boolean(), note: z.string().optional() }) });
    type Answer = { yes: boolean; note?: string | undefined };
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<{ question: string }, Record<string, unknown>, Answer>>();
    defineAgent({ ...MODEL, tools: [tool] });
    defineAgent({ ...MODEL, tools: [tool], deps: z.object({ userId: z.string() }) });
  });

  test('must have an object of parameters and a time with a unit', () => {
    const options = { name: 't', description: 'd', execute: () => null };
    // @ts-expect-error Parameters have names.
    expect(() => defineTool({ ...options, parameters: z.array(z.string()) })).toThrow(UsageError);
    // @ts-expect-error A number of milliseconds, or a text such as "5s".
    expect(() => defineTool({ ...options, parameters: z.object({}), timeout: '5 seconds' })).toThrow(UsageError);
  });
});

describe('an agent', () => {
  test('without an output schema answers text or parts', () => {
    const agent = defineAgent(MODEL);
    expectTypeOf<OutputOf<typeof agent>>().toEqualTypeOf<DefaultOutput>();
    expectTypeOf<DepsOf<typeof agent>>().toEqualTypeOf<JsonObject>();
    expectTypeOf(agent).toExtend<AnyAgent>();
  });

  test('has the answer type of its output schema', () => {
    const agent = defineAgent({ ...MODEL, output: z.object({ answer: z.string(), score: z.number().default(1) }) });
    expectTypeOf<OutputOf<typeof agent>>().toEqualTypeOf<{ answer: string; score: number }>();
    expectTypeOf(agent).toExtend<AnyAgent>();
    const list = defineAgent({ ...MODEL, output: z.array(z.string()) });
    expectTypeOf<OutputOf<typeof list>>().toEqualTypeOf<string[]>();
  });

  test('types its instructions by its deps', () => {
    const agent = defineAgent({
      ...MODEL,
      deps: z.object({ userName: z.string(), vip: z.boolean().optional() }),
      instructions: (deps) => {
        expectTypeOf(deps).toEqualTypeOf<{ userName: string; vip?: boolean | undefined }>();
        return `You talk to ${deps.userName}.`;
      },
    });
    expectTypeOf<DepsOf<typeof agent>>().toEqualTypeOf<{ userName: string; vip?: boolean | undefined }>();
    expectTypeOf(agent).toExtend<AnyAgent>();
    const agents: AnyAgent[] = [agent, defineAgent(MODEL)];
    expectTypeOf(agents).toExtend<readonly AnyAgent[]>();
  });

  test('takes a list of tools with that type', () => {
    const tools: ToolDefinition[] = [defineTool({ name: 'x', description: 'd', parameters: z.object({}), execute: () => null })];
    expectTypeOf(defineAgent({ ...MODEL, tools })).toExtend<AnyAgent>();
    defineAgent({ ...MODEL, tools, deps: z.object({ userId: z.string(), maybe: z.string().optional() }) });
  });

  test('has limits by name, and a time with a unit', () => {
    const search = defineTool({ name: 'search', description: 'd', parameters: z.object({}), execute: () => null });
    defineAgent({
      ...MODEL,
      tools: [search],
      limits: { steps: 5, toolCallsByName: { search: 1 }, costUsd: 0.5, deadline: '2d' },
      onLimit: 'ask',
    });
    // @ts-expect-error The unit is missing.
    expect(() => defineAgent({ ...MODEL, limits: { deadline: '2' } })).toThrow(UsageError);
    // @ts-expect-error It is called steps.
    expect(() => defineAgent({ ...MODEL, limits: { maxIterations: 2 } })).toThrow(UsageError);
  });

  test('refuses unknown options', () => {
    // @ts-expect-error It is called limits.steps.
    expect(() => defineAgent({ ...MODEL, maxSteps: 3 })).toThrow(UsageError);
  });
});

describe('an update of the deps', () => {
  interface Deps {
    userId: string;
    notes?: string[];
    stats?: { total: number; deep?: { depth: number } };
  }
  const update = contextUpdate<Deps>();

  test('accepts a value of the right type for each key', () => {
    expect(
      update
        .set('notes', [])
        .append('notes', 'n')
        .merge('stats', { deep: { depth: 1 } })
        .delete('notes').operations,
    ).toHaveLength(4);
    expect(contextUpdate().append('any', { a: 1 }).merge('any', { a: 1 }).operations).toHaveLength(2);
  });

  test('refuses every other value', () => {
    // @ts-expect-error It is a text.
    update.set('userId', 1);
    // @ts-expect-error Its elements are texts.
    update.append('notes', 1);
    // @ts-expect-error It is not a list.
    update.append('userId', 'x');
    // @ts-expect-error It is not an object.
    update.merge('userId', 'x');
    // @ts-expect-error A part of it is a number.
    update.merge('stats', { total: 'x' });
    // @ts-expect-error There is no such key.
    update.delete('nothing');
    expect(update.operations).toEqual([]);
  });
});
