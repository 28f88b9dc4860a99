import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CAPABILITIES } from '../../src/core/capabilities.ts';
import { gatesInOrder } from '../../src/core/kernel/tool-calls.ts';
import { defined, type JsonObject } from '../../src/core/domain/json.ts';
import { type CallsNotRun, type NotRun, resultText } from '../../src/core/domain/tool-calls.ts';
import { defineProgram, tool, unit } from '../../src/define/program/index.ts';
import { callRules, defineAgent, defineGuardrail, defineHook, defineTool, type LimitOptions } from '../../src/index.ts';
import {
  approve,
  callTool,
  type Decide,
  reject,
  respond,
  say,
  scriptedExecutor,
  scriptedModel,
  testAgent,
  type TestDecision,
  testProgram,
} from '../../src/testing/index.ts';

/** Who makes the call. */
type Maker = 'model' | 'code' | 'program';

const EVERYBODY: readonly Maker[] = ['model', 'code', 'program'];
/** Programs have no permissions, hooks and guardrails, and callers say nothing about them. */
const AGENTS: readonly Maker[] = ['model', 'code'];

/** One answer of a gate to the call `pay({amount: 7})`, and what must come of it for everybody who may get it. */
interface Row {
  if: string;
  makers: readonly Maker[];
  tool?: Partial<Parameters<typeof defineTool>[0]>;
  agent?: Partial<Parameters<typeof defineAgent>[0]>;
  arguments?: JsonObject;
  name?: string;
  limits?: LimitOptions;
  onLimit?: 'ask';
  decide?: TestDecision;
  outcome: Partial<Outcome>;
}

/** What came of a call. */
interface Outcome {
  /** The arguments that the tool ran with; null if it did not run. */
  ran: object | null;
  /** What the model or the code read, or the failure of the step says. */
  got: string | null;
  /** Why it did not run, as the result of the run counts it. */
  notRun: NotRun | null;
  /** The arguments and the reason that a person saw, of each decision. */
  asked: [arguments: JsonObject, reason: string | undefined][];
  /** Why the run stopped. */
  stopReason: string;
}

const pay7 = { ran: { amount: 7 }, got: 'paid 7', notRun: null };
const seven: Outcome['asked'][0] = [{ amount: 7 }, undefined];
const overLimit = '1 of 1 requested tool calls are over the limit of tool calls';
const rejected = { ran: null, got: 'User denied the tool execution. Reason: too much', notRun: 'refused' as const };

/** The rows of each gate, in the order of the gates. A new gate needs some. */
const ROWS: Record<string, readonly Row[]> = {
  review: [
    {
      if: 'its tool is for code alone',
      makers: ['model'],
      tool: { callers: ['code'] },
      outcome: { ran: null, got: `Tool 'pay' not found in agent's tool list`, notRun: 'invalid', asked: [] },
    },
    {
      if: 'its tool is for the model alone',
      makers: ['code'],
      tool: { callers: ['model'] },
      outcome: { ran: null, got: `Tool 'pay' not found in agent's tool list`, notRun: 'invalid', asked: [] },
    },
    {
      if: 'the arguments do not fit',
      makers: EVERYBODY,
      arguments: { amount: 'much' },
      outcome: { ran: null, got: `Invalid arguments for 'pay': amount: expected number, got string`, notRun: 'invalid', asked: [] },
    },
    {
      if: 'the arguments do not fit, and nobody is asked about them',
      makers: EVERYBODY,
      tool: { approval: 'always' },
      arguments: { amount: 'much' },
      outcome: { ran: null, notRun: 'invalid', asked: [] },
    },
    {
      if: 'a hook denies it',
      makers: AGENTS,
      agent: { hooks: [defineHook({ name: 'h', on: 'pre_tool_use', match: 'pay', run: () => ({ deny: 'not today' }) })] },
      outcome: { ran: null, got: `The call of 'pay' was denied by a hook: not today`, notRun: 'refused', asked: [] },
    },
    {
      if: 'a guardrail blocks it',
      makers: AGENTS,
      agent: { guardrails: [callRules({ block: ['pay'] })] },
      outcome: { ran: null, notRun: 'refused', asked: [] },
    },
    {
      if: 'a guardrail blocks what a hook has changed',
      makers: AGENTS,
      agent: {
        hooks: [defineHook({ name: 'h', on: 'pre_tool_use', match: 'pay', run: () => ({ modify: { arguments: { amount: 8 } } }) })],
        guardrails: [
          defineGuardrail({
            name: 'odd',
            type: 'tool_call',
            check: ({ call }) => (call.arguments['amount'] === 8 ? { passed: false, message: 'even' } : { passed: true }),
          }),
        ],
      },
      outcome: { ran: null, got: 'Tool blocked: even', notRun: 'refused', asked: [] },
    },
  ],
  hooks: [
    {
      if: 'a hook changes the arguments',
      makers: AGENTS,
      agent: {
        hooks: [defineHook({ name: 'h', on: 'pre_tool_use', match: 'pay', run: () => ({ modify: { arguments: { amount: 8 } } }) })],
      },
      outcome: { ran: { amount: 8 }, got: 'paid 8', notRun: null, asked: [] },
    },
    {
      if: 'permissions deny what a hook has changed',
      makers: AGENTS,
      agent: {
        hooks: [defineHook({ name: 'h', on: 'pre_tool_use', match: 'pay', run: () => ({ modify: { arguments: { amount: 8 } } }) })],
        permissions: { deny: [{ tool: 'pay', args: { amount: '8' } }] },
      },
      outcome: { ran: null, notRun: 'refused', asked: [] },
    },
  ],
  tools: [
    {
      if: 'there is no such tool',
      makers: AGENTS,
      name: 'pays',
      outcome: { ran: null, got: `Tool 'pays' not found in agent's tool list`, notRun: 'unknown', asked: [] },
    },
  ],
  permissions: [
    {
      if: 'a rule denies it',
      makers: AGENTS,
      agent: { permissions: { deny: [{ tool: 'pay', args: { amount: '7' } }] } },
      outcome: {
        ran: null,
        got: 'The permissions of this run do not allow this call of "pay": the rule deny: tool "pay", amount "7" denies it.',
        notRun: 'refused',
        asked: [],
      },
    },
    {
      if: 'a rule asks about it, and a person approves',
      makers: AGENTS,
      agent: { permissions: { ask: ['pay'] } },
      decide: approve(),
      outcome: { ...pay7, asked: [[{ amount: 7 }, 'the rule ask: tool "pay" asks about it']] },
    },
    {
      if: 'a rule asks about it, and so does its predicate, whose reason counts',
      makers: AGENTS,
      agent: { permissions: { ask: ['pay'] } },
      tool: { approval: () => ({ reason: 'a lot' }) },
      decide: approve(),
      outcome: { ...pay7, asked: [[{ amount: 7 }, 'a lot']] },
    },
  ],
  execution: [
    {
      if: 'nothing implements it',
      makers: EVERYBODY,
      tool: { execute: 'none' },
      outcome: {
        ran: null,
        got: `Tool 'pay' is not executable: nothing implements it. Go on without its result.`,
        notRun: 'not_started',
        asked: [],
      },
    },
  ],
  limits: [
    {
      if: 'they have no room',
      makers: EVERYBODY,
      limits: { toolCalls: 0 },
      outcome: { ran: null, asked: [], stopReason: 'tool_call_limit' },
    },
    {
      if: 'they have no room, and nobody decides about a call that could not start',
      makers: EVERYBODY,
      tool: { approval: 'always' },
      limits: { toolCallsByName: { pay: 0 } },
      decide: approve(),
      outcome: { ran: null, asked: [], stopReason: 'tool_call_limit' },
    },
    {
      if: 'a person is asked at limits, and then about the call',
      makers: EVERYBODY,
      tool: { approval: 'always' },
      limits: { toolCalls: 0 },
      onLimit: 'ask',
      decide: approve(),
      outcome: {
        ...pay7,
        asked: [[{ toolCalls: 1 }, overLimit], seven],
      },
    },
  ],
  approval: [
    { if: 'nothing requires a decision', makers: EVERYBODY, outcome: { ...pay7, asked: [] } },
    {
      if: 'its tool always requires one, and a person approves',
      makers: EVERYBODY,
      tool: { approval: 'always' },
      decide: approve(),
      outcome: { ...pay7, asked: [seven] },
    },
    {
      if: 'a person edits its arguments',
      makers: EVERYBODY,
      tool: { approval: 'always' },
      decide: approve({ arguments: { amount: 5 } }),
      outcome: { ran: { amount: 5 }, got: 'paid 5', notRun: null, asked: [seven] },
    },
    {
      if: 'a person rejects it',
      makers: EVERYBODY,
      tool: { approval: 'always' },
      decide: reject('too much'),
      outcome: { ...rejected, asked: [seven] },
    },
    {
      if: 'a person answers it',
      makers: EVERYBODY,
      tool: { approval: 'always' },
      decide: respond('by hand'),
      outcome: { ran: null, got: 'by hand', notRun: 'answered', asked: [seven] },
    },
    {
      if: 'its predicate lets it pass',
      makers: EVERYBODY,
      tool: { approval: (args: { amount?: unknown }) => Number(args.amount) > 10 },
      outcome: { ...pay7, asked: [] },
    },
    {
      if: 'its predicate requires one',
      makers: EVERYBODY,
      tool: { approval: (args: { amount?: unknown }) => Number(args.amount) > 5 && { reason: 'a lot' } },
      decide: reject('too much'),
      outcome: { ...rejected, asked: [[{ amount: 7 }, 'a lot']] },
    },
    {
      if: 'a hook requires one',
      makers: AGENTS,
      agent: { hooks: [defineHook({ name: 'h', on: 'pre_tool_use', match: 'pay', run: () => ({ ask: 'sure?' }) })] },
      decide: reject('too much'),
      outcome: { ...rejected, asked: [[{ amount: 7 }, 'sure?']] },
    },
  ],
};

const find = defineTool({ name: 'find', description: 'Finds.', parameters: z.object({}), execute: () => 'found' });

/** The end of the run. */
interface Ended {
  toolCallsNotRun?: CallsNotRun | undefined;
  stopReason: string;
}

/** The tool, the person, and what they have seen. */
class Course {
  ran: Outcome['ran'] = null;
  readonly asked: Outcome['asked'] = [];
  readonly pay: ReturnType<typeof defineTool>;
  readonly decide: Decide;

  constructor(row: Row) {
    const execute = (args: { amount?: unknown }): string => {
      this.ran = args;
      return `paid ${String(args.amount)}`;
    };
    const parameters = z.object({ amount: z.number() });
    this.pay = defineTool({ name: 'pay', description: 'Pays.', parameters, execute, ...row.tool });
    this.decide = ({ arguments: args, proposal, reason }) => {
      this.asked.push([proposal === undefined ? args : { ...proposal }, reason]);
      return row.decide;
    };
  }

  outcome(got: string | null, { toolCallsNotRun, stopReason }: Ended): Outcome {
    const [notRun = null] = Object.keys(toolCallsNotRun ?? {}) as NotRun[];
    return { ran: this.ran, asked: this.asked, got, notRun, stopReason };
  }
}

/** Lets somebody make the call, and returns the outcome. */
function outcomeOf(maker: Maker, row: Row): Promise<Outcome> {
  return maker === 'program' ? outcomeOfStep(row) : outcomeOfAgent(maker, row);
}

async function outcomeOfStep(row: Row): Promise<Outcome> {
  const course = new Course(row);
  const { decide, pay } = course;
  const units = [unit('u', {}, [tool('Pay', pay, { amount: '{{input.amount}}' })])];
  const program = defineProgram({ name: 'p', input: z.object({ amount: z.json() }), units, ...defined({ onLimit: row.onLimit }) });
  const input = { amount: row.arguments?.['amount'] ?? 7 };
  const { result, events } = await testProgram(program, { input, decide, model: scriptedModel([]), ...defined({ limits: row.limits }) });
  const attempt = events.findLast(({ step }) => step?.type === 'attempt');
  const [item] = attempt?.content ?? [];
  const got = item?.type === 'tool_result' ? resultText(item.content) : (attempt?.step?.error?.context?.details ?? null);
  return course.outcome(got, result);
}

async function outcomeOfAgent(maker: Maker, row: Row): Promise<Outcome> {
  const course = new Course(row);
  const { name = 'pay', arguments: args = { amount: 7 } } = row;
  const executor = scriptedExecutor([{ calls: [[{ tool: name, arguments: args }]], output: 'done' }]);
  const runsCode = maker === 'code' || row.tool?.callers !== undefined;
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/m',
    tools: [course.pay, find],
    ...(runsCode ? { code: { executor } } : {}),
    ...defined({ onLimit: row.onLimit }),
    ...row.agent,
  });
  const call = maker === 'code' ? callTool('run_code', { code: 'pay()' }) : callTool(name, args);
  const model = scriptedModel(row.outcome.stopReason === 'tool_call_limit' ? [call] : [call, say('done')]);
  const { result, steps } = await testAgent(agent, { input: 'Q', decide: course.decide, model, ...defined({ limits: row.limits }) });
  const record = steps[0]?.toolCalls.find(({ toolName }) => toolName === name);
  return course.outcome(record?.result ?? null, result);
}

test('each gate has rows, except the gates of the final attempt and of other agents, which only a model meets', () => {
  const names = gatesInOrder().map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(CAPABILITIES.flatMap(({ gates = [] }) => gates.map(({ name }) => name))));
  expect(names.filter((name) => name !== 'attempt' && name !== 'handoffs')).toEqual(Object.keys(ROWS));
});

describe.each(Object.entries(ROWS))('the gate "%s" has the same outcome for whoever makes a call', (_, rows) => {
  const cells = rows.flatMap((row) => row.makers.map((maker) => [row.if, maker, row] as const));
  test.each(cells)('if %s, made by %s', async (__, maker, row) => {
    expect(await outcomeOf(maker, row)).toMatchObject(row.outcome);
  });
});
