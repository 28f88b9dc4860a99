import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/core/domain/json.ts';
import { defineProgram, tool, unit } from '../../src/define/program/index.ts';
import { callRules, defineAgent, defineHook, defineTool, type ObjectSchema } from '../../src/index.ts';
import {
  approve,
  callTool,
  type Decide,
  say,
  scriptedExecutor,
  scriptedModel,
  testAgent,
  type TestDecision,
  testProgram,
} from '../../src/testing/index.ts';

// Everything that decides about a call, and everybody who sees it, has the arguments that the tool runs with.

type Maker = 'model' | 'code' | 'program';

/** A way in which a schema changes arguments. */
interface Form {
  parameters: ObjectSchema;
  /** The field `env` as it is written, and as the tool gets it. */
  written: JsonObject;
  env: string | number;
  /** The same in an approver's edit, which is checked as it is. Default: as written. */
  edited?: JsonObject;
  /** Who may write that. A program's step is checked as it is written. */
  makers: readonly Maker[];
}

const EVERYBODY: readonly Maker[] = ['model', 'code', 'program'];
const to = z.string();

const FORMS: Record<string, Form> = {
  'a default': { parameters: z.object({ to, env: z.enum(['test', 'prod']).default('prod') }), written: {}, env: 'prod', makers: EVERYBODY },
  'a text to trim': { parameters: z.object({ to, env: z.string().trim() }), written: { env: ' prod\n' }, env: 'prod', makers: EVERYBODY },
  'a value to coerce': {
    parameters: z.object({ to, env: z.coerce.number<string>() }),
    written: { env: '7' },
    edited: { env: 7 },
    env: 7,
    makers: ['model', 'code'],
  },
  'a null for an argument with a default': {
    parameters: z.object({ to, env: z.string().default('prod') }),
    written: { env: null },
    edited: {},
    env: 'prod',
    makers: ['model', 'code'],
  },
};

/** What is asked about the call, and what comes of it. */
interface Asking {
  agent?: (env: string | number) => Partial<Parameters<typeof defineAgent>[0]>;
  approval?: Parameters<typeof defineTool>[0]['approval'];
  decide?: (edited: JsonObject) => TestDecision;
  /** Who can be asked like this: programs have no permissions, hooks and guardrails. */
  makers: readonly Maker[];
  /** The `to` that the tool runs with; null if it must not run. */
  to: string | null;
  /** The number of people that are asked about the call. */
  asked: number;
}

const AGENTS: readonly Maker[] = ['model', 'code'];
const rule = (env: string | number): { tool: string; args: Record<string, string> } => ({ tool: 'deploy', args: { env: String(env) } });
const edit = (edited: JsonObject): TestDecision => approve({ arguments: { to: 'b', ...edited } });

const ASKINGS: Record<string, Asking> = {
  'a rule that denies it': { agent: (env) => ({ permissions: { deny: [rule(env)] } }), makers: AGENTS, to: null, asked: 0 },
  'a rule that asks about it': { agent: (env) => ({ permissions: { ask: [rule(env)] } }), makers: AGENTS, to: 'a', asked: 1 },
  'a rule that allows nothing else': { agent: (env) => ({ permissions: { allow: [rule(env)] } }), makers: AGENTS, to: 'a', asked: 0 },
  'a guardrail': {
    agent: (env) => ({ guardrails: [callRules({ arguments: { env: new RegExp(`^${String(env)}$`) } })] }),
    makers: AGENTS,
    to: null,
    asked: 0,
  },
  'a hook': {
    agent: (env) => ({
      hooks: [
        defineHook({
          name: 'h',
          on: 'pre_tool_use',
          match: 'deploy',
          run: ({ arguments: args }) => (args['env'] === env ? { deny: 'no' } : undefined),
        }),
      ],
    }),
    makers: AGENTS,
    to: null,
    asked: 0,
  },
  'its predicate': { approval: (args: { env?: unknown }) => args.env !== undefined, makers: EVERYBODY, to: 'a', asked: 1 },
  'a person, each time': { approval: 'always', makers: EVERYBODY, to: 'a', asked: 1 },
  'a person who edits it': { approval: 'always', decide: edit, makers: EVERYBODY, to: 'b', asked: 1 },
  'a rule that denies what a person makes of it': {
    agent: (env) => ({ permissions: { deny: [{ tool: 'deploy', args: { to: 'b', env: String(env) } }] } }),
    approval: 'always',
    decide: edit,
    makers: AGENTS,
    to: null,
    asked: 1,
  },
};

/** What was seen of one call. */
interface Seen {
  ran: unknown;
  asked: JsonObject[];
  recorded: JsonObject | undefined;
}

async function seen(maker: Maker, form: Form, asking: Asking): Promise<Seen> {
  const { parameters, written, edited = written, env } = form;
  const args = { to: 'a', ...written };
  const asked: JsonObject[] = [];
  let ran: unknown = null;
  const execute = (given: unknown): string => {
    ran = given;
    return 'done';
  };
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    parameters,
    execute,
    ...(asking.approval === undefined ? {} : { approval: asking.approval }),
  });
  const decide: Decide = ({ arguments: shown }) => {
    asked.push(shown);
    return asking.decide?.(edited) ?? approve();
  };
  if (maker === 'program') {
    const units = [unit('u', {}, [tool('Deploy', deploy, args)])];
    const { events } = await testProgram(defineProgram({ name: 'p', units }), { decide, model: scriptedModel([]) });
    const call = events.flatMap(({ content }) => content).find((item) => item.type === 'tool_call');
    return { ran, asked, recorded: call?.type === 'tool_call' && asking.decide === undefined ? call.arguments : undefined };
  }
  const executor = scriptedExecutor([{ calls: [[{ tool: 'deploy', arguments: args }]], output: 'done' }]);
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/m',
    tools: [deploy],
    ...(maker === 'code' ? { code: { executor } } : {}),
    ...asking.agent?.(env),
  });
  const call = maker === 'code' ? callTool('run_code', { code: 'deploy()' }) : callTool('deploy', args);
  const { steps } = await testAgent(agent, { input: 'Q', decide, model: scriptedModel([call, say('done')]) });
  return { ran, asked, recorded: steps[0]?.toolCalls.find(({ toolName }) => toolName === 'deploy')?.arguments };
}

const CELLS = Object.entries(FORMS).flatMap(([form, { makers }]) =>
  Object.entries(ASKINGS).flatMap(([asking, { makers: those }]) =>
    // A rule that sees what it denies in the edit itself refuses the decision.
    (form === 'a value to coerce' && asking.startsWith('a rule that denies what') ? [] : makers)
      .filter((maker) => those.includes(maker))
      .map((maker) => [form, asking, maker] as const),
  ),
);

describe('a call is decided and recorded with the arguments that its tool runs with', () => {
  test.each(CELLS)('%s, seen by %s, of a call made by the %s', async (formName, askingName, maker) => {
    const form = FORMS[formName] as Form;
    const asking = ASKINGS[askingName] as Asking;
    const { ran, asked, recorded } = await seen(maker, form, asking);
    const parsed = { to: 'a', env: form.env };
    expect({ ran, asked }).toEqual({
      ran: asking.to === null ? null : { to: asking.to, env: form.env },
      asked: Array.from({ length: asking.asked }, () => parsed),
    });
    // The event of a step's call has the arguments from before an edit.
    expect(recorded ?? parsed).toEqual({ ...parsed, to: asking.decide === undefined || recorded === undefined ? 'a' : 'b' });
  });
});

const deployed: unknown[] = [];

function deployTool<Parameters extends ObjectSchema>(parameters: Parameters): ReturnType<typeof defineTool> {
  return defineTool({
    name: 'deploy',
    description: 'Deploys.',
    parameters,
    execute: (args) => {
      deployed.push(args);
      return 'done';
    },
  }) as unknown as ReturnType<typeof defineTool>;
}

type AgentOptions = Partial<Parameters<typeof defineAgent>[0]>;

/** Lets the model call the tool once, and returns its arguments and its result. */
async function callOf(
  parameters: ObjectSchema,
  args: JsonObject,
  options: AgentOptions = {},
): Promise<{ ran: unknown[]; result: string | undefined }> {
  deployed.length = 0;
  const agent = defineAgent({ name: 'a', model: 'scripted/m', tools: [deployTool(parameters)], ...options });
  const model = scriptedModel([callTool('deploy', args), say('done')]);
  const { steps } = await testAgent(agent, { input: 'Q', model, decide: () => approve() });
  return { ran: [...deployed], result: steps[0]?.toolCalls[0]?.result };
}

const env = z.string().default('prod');
const denied = { permissions: { deny: [{ tool: 'deploy', args: { env: 'prod' } }] } } satisfies AgentOptions;

test('rules see the arguments of a hook as the tool runs with them, and so does the next hook', async () => {
  const modify = defineHook({ name: 'one', on: 'pre_tool_use', run: () => ({ modify: { arguments: {} } }) });
  const given: unknown[] = [];
  const look = defineHook({ name: 'two', on: 'pre_tool_use', run: ({ arguments: args }) => void given.push(args) });
  const { ran, result } = await callOf(z.object({ env }), { env: 'test' }, { hooks: [modify, look], ...denied });
  expect({ ran, given }).toEqual({ ran: [], given: [{ env: 'prod' }] });
  expect(result).toContain('do not allow this call');
});

test('a default that a function gives is the same for everybody who sees it and for the tool', async () => {
  let ids = 0;
  const asked: unknown[] = [];
  deployed.length = 0;
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/m',
    tools: [deployTool(z.object({ id: z.string().default(() => `id-${(ids += 1)}`) }))],
    permissions: { ask: ['deploy'] },
  });
  const model = scriptedModel([callTool('deploy', {}), say('done')]);
  await testAgent(agent, { input: 'Q', model, decide: ({ arguments: args }) => (asked.push(args), approve()) });
  expect(asked).toEqual(deployed);
});

test('what a schema turns into no JSON, or into something else each time, is seen as it was written, and the rest as the tool gets it', async () => {
  const asked: unknown[] = [];
  deployed.length = 0;
  const day = z.string().transform((text) => new Date(text));
  const size = z.string().transform((text) => text.length);
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/m',
    tools: [deployTool(z.object({ env, day, size, all: z.array(z.object({ day, name: z.string().trim() })) }))],
    permissions: { ask: ['deploy'] },
  });
  const written = { day: '2030-01-01', size: 'four', all: [{ day: '2030-01-02', name: ' n ' }] };
  const model = scriptedModel([callTool('deploy', written), say('done')]);
  await testAgent(agent, { input: 'Q', model, decide: ({ arguments: args }) => (asked.push(args), approve()) });
  expect(asked).toEqual([{ env: 'prod', day: '2030-01-01', size: 'four', all: [{ day: '2030-01-02', name: 'n' }] }]);
  const all = [{ day: new Date('2030-01-02'), name: 'n' }];
  expect(deployed).toEqual([{ env: 'prod', day: new Date('2030-01-01'), size: 4, all }]);
});

test('a call whose arguments the schema refuses has an error, and nobody is asked about it', async () => {
  const parameters = z.object({ env: env.refine((text) => text !== 'prod', 'not there') });
  const { ran, result } = await callOf(parameters, {}, { permissions: { ask: ['deploy'] } });
  expect({ ran, result }).toEqual({ ran: [], result: expect.stringMatching(/^Invalid arguments for 'deploy': .*not there/s) as string });
});

test('an approver who leaves out an argument with a default decides about the default, also if a rule denies it', async () => {
  const { ran, result } = await callEdited(denied);
  expect({ ran, result }).toEqual({ ran: [], result: expect.stringContaining('do not allow this call') as string });
  expect((await callEdited({})).ran).toEqual([{ env: 'prod' }]);
});

async function callEdited(options: AgentOptions): Promise<{ ran: unknown[]; result: string | undefined }> {
  deployed.length = 0;
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/m',
    tools: [{ ...deployTool(z.object({ env })), approval: { when: 'always' } }],
    ...options,
  });
  const model = scriptedModel([callTool('deploy', { env: 'test' }), say('done')]);
  const { steps } = await testAgent(agent, { input: 'Q', model, decide: () => approve({ arguments: {} }) });
  return { ran: [...deployed], result: steps[0]?.toolCalls[0]?.result };
}

test('the model reads what it wrote, and the answer of a tool whose schema changes nothing has no other arguments', async () => {
  const tools = [deployTool(z.object({ env }))];
  const agent = defineAgent({ name: 'a', model: 'scripted/m', tools });
  const model = scriptedModel([callTool('deploy', {}), say('done')]);
  const { events } = await testAgent(agent, { input: 'Q', model });
  expect(events.flatMap(({ content }) => content).find((item) => item.type === 'tool_call')).toMatchObject({ arguments: {} });
});

test('a rule sees the arguments of a call that is made in a burst', async () => {
  const { ran, result } = await callOf(z.object({ env }), {}, { burst: { steps: 4 }, ...denied });
  expect({ ran, result }).toEqual({ ran: [], result: expect.stringContaining('do not allow this call') as string });
});

test('a remembered decision holds for a call that leaves out what another one wrote', async () => {
  deployed.length = 0;
  let asked = 0;
  const tools = [deployTool(z.object({ env }))];
  const agent = defineAgent({ name: 'a', model: 'scripted/m', tools, permissions: { ask: ['deploy'] } });
  const model = scriptedModel([
    callTool('deploy', { env: 'prod' }),
    callTool('deploy', {}),
    callTool('deploy', { env: 'test' }),
    say('done'),
  ]);
  await testAgent(agent, { input: 'Q', model, decide: () => ((asked += 1), approve({ remember: 'arguments' })) });
  expect({ asked, deployed }).toEqual({ asked: 2, deployed: [{ env: 'prod' }, { env: 'prod' }, { env: 'test' }] });
});

test('the decision has the arguments that the tool runs with, and those that the approver sent', async () => {
  const tools = [{ ...deployTool(z.object({ env })), approval: { when: 'always' as const } }];
  const agent = defineAgent({ name: 'a', model: 'scripted/m', tools });
  const model = scriptedModel([callTool('deploy', { env: 'test' }), say('done')]);
  const { events } = await testAgent(agent, { input: 'Q', model, decide: () => approve({ arguments: {} }) });
  expect(events.find(({ decision }) => decision !== undefined)?.decision).toMatchObject({ arguments: { env: 'prod' }, sentArguments: {} });
});

describe('arguments that only the zod schema can repair', () => {
  const listed = z.preprocess((given) => (typeof given === 'string' ? given.split(',') : given), z.array(z.string()));

  test.each<[string, ObjectSchema, JsonObject, unknown]>([
    ['catch', z.object({ a: z.number().catch(0) }), { a: 'abc' }, { a: 0 }],
    ['catch, for a missing argument', z.object({ a: z.number().catch(0), b: z.string() }), { b: 'x' }, { a: 0, b: 'x' }],
    ['preprocess', z.object({ a: listed }), { a: 'x,y' }, { a: ['x', 'y'] }],
    ['coerce to a text', z.object({ a: z.coerce.string() }), { a: 5 }, { a: '5' }],
    ['coerce to a number', z.object({ a: z.coerce.number() }), { a: ' 5 ' }, { a: 5 }],
  ])('%s: the tool runs with what the schema makes of them', async (_, parameters, args, repaired) => {
    expect((await callOf(parameters, args)).ran).toEqual([repaired]);
  });

  test('a rule decides about what the schema makes of them', async () => {
    const { ran, result } = await callOf(z.object({ env: z.enum(['test', 'prod']).catch('prod') }), { env: 'production' }, denied);
    expect({ ran, result }).toEqual({ ran: [], result: expect.stringContaining('do not allow this call') as string });
  });

  test.each(['never', 'always'] as const)('a step of a program runs with it too (approval: %s)', async (approval) => {
    const ran: unknown[] = [];
    const parameters = z.object({ a: listed });
    const deploy = defineTool({ name: 'deploy', description: 'Deploys.', parameters, approval, execute: (args) => void ran.push(args) });
    // What is written in the program itself must fit the JSON Schema.
    const units = [unit('u', {}, [tool('Deploy', deploy, { a: '{{input.list}}' })])];
    const program = defineProgram({ name: 'p', input: z.object({ list: z.string() }), units });
    await testProgram(program, { input: { list: 'x,y' }, decide: () => approve(), model: scriptedModel([]) });
    expect(ran).toEqual([{ a: ['x', 'y'] }]);
  });

  test.each([
    [{ a: 4 }, 'at most three, please'],
    [{ a: 'many' }, 'give a number'],
  ])('arguments that it refuses (%j) get its own messages, and the tool does not run', async (args, message) => {
    const parameters = z.object({ a: z.number('give a number').max(3, 'at most three, please').default(1) });
    const { ran, result } = await callOf(parameters, args);
    expect({ ran, result }).toEqual({ ran: [], result: expect.stringContaining(`Invalid arguments for 'deploy': ✖ ${message}`) as string });
  });
});
