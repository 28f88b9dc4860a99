import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { AnyAgent, DepsOf, OutputOf } from '../../src/define/agent-definition.ts';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import type { RunContext } from '../../src/define/run-context.ts';
import type { AnyTool, ToolDefinition } from '../../src/define/tool-definition.ts';
import { UsageError } from '../../src/domain/error.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import type { DefaultOutput } from '../../src/domain/run-result.ts';

const MODEL = { name: 'bot', model: 'scripted/model' };

describe('a tool', () => {
  test('gets its arguments as zod gives them, and a context', () => {
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

  test('takes strict objects and knows what it returns', () => {
    const tool = defineTool({
      name: 'count',
      description: 'Counts.',
      parameters: z.strictObject({ n: z.number() }),
      result: z.object({ n: z.number() }),
      execute: async ({ n }) => ({ n }),
    });
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<{ n: number }, Record<string, unknown>, Promise<{ n: number }>>>();
    expectTypeOf(tool).toExtend<AnyTool>();
    expectTypeOf(tool).toExtend<ToolDefinition>();
  });

  test('says with the type of its context which deps it needs', () => {
    const tool = defineTool({
      name: 'whoami',
      description: 'Says who asks.',
      parameters: z.object({}),
      execute: (_, context: RunContext<{ userId: string }>) => context.deps.userId,
    });
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<Record<string, never>, { userId: string }, string>>();
    defineAgent({ ...MODEL, tools: [tool], deps: z.object({ userId: z.string(), locale: z.string() }) });
    // @ts-expect-error The agent has no such deps.
    defineAgent({ ...MODEL, tools: [tool], deps: z.object({ locale: z.string() }) });
    // @ts-expect-error The agent has no deps at all.
    defineAgent({ ...MODEL, tools: [tool] });
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

  test('answers what its output schema gives', () => {
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

  test('takes a list of tools that were typed as such', () => {
    const tools: ToolDefinition[] = [defineTool({ name: 'x', description: 'd', parameters: z.object({}), execute: () => null })];
    expectTypeOf(defineAgent({ ...MODEL, tools })).toExtend<AnyAgent>();
    defineAgent({ ...MODEL, tools, deps: z.object({ userId: z.string(), maybe: z.string().optional() }) });
  });

  test('refuses what is no option', () => {
    // @ts-expect-error It is called maxIterations.
    expect(() => defineAgent({ ...MODEL, maxSteps: 3 })).toThrow(UsageError);
  });
});
