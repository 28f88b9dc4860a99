import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agent as agentStep, ask, defineProgram, forEach, human, tool as toolStep, unit } from '../../src/define/program/index.ts';
import { type AgentDefinition, agentTool, askHuman, defineAgent, defineTool, type ToolDefinition } from '../../src/index.ts';
import {
  callTool,
  failWith,
  hang,
  say,
  type ScriptEntry,
  scriptedModel,
  testAgent,
  type TestedRun,
  testProgram,
} from '../../src/testing/index.ts';

const DEADLINE = '1s';
const none = z.object({});

/** A model that always refuses, so that its calls only wait for their next attempt. */
const refusing = [failWith('model_rate_limited')];

const failing = defineTool({
  name: 'failing',
  description: 'Fails',
  parameters: none,
  maxAttempts: 10,
  backoff: { initial: '40s' },
  execute: () => {
    throw new Error('not now');
  },
});

const endless = defineTool({
  name: 'endless',
  description: 'Never ends',
  parameters: none,
  execute: (_, { signal }) => sleep(60_000, undefined, { signal }).then(() => 'never'),
});

function agentWith(...tools: ToolDefinition[]): AgentDefinition {
  return defineAgent({ name: 'clerk', model: 'scripted/m', tools });
}

interface Waiting {
  waits: string;
  agent?: AgentDefinition;
  script: readonly ScriptEntry[];
}

const WAITS: Waiting[] = [
  { waits: 'for the next attempt of a model call', script: refusing },
  { waits: 'for an answer that does not come', script: [hang('Once upon')] },
  { waits: 'for the next attempt of a tool call', agent: agentWith(failing), script: [callTool('failing')] },
  { waits: 'for a tool that does not end', agent: agentWith(endless), script: [callTool('endless')] },
  {
    waits: 'for a person',
    agent: agentWith(askHuman({ name: 'ask', description: 'Asks', answer: z.string() })),
    script: [callTool('ask', { question: 'Why?' })],
  },
  {
    waits: 'for a child that only waits',
    agent: agentWith(agentTool(defineAgent({ name: 'helper', model: 'scripted/m', description: 'Helps' }))),
    script: [callTool('helper', { input: 'Help' }), ...refusing],
  },
];

function milliseconds({ durationSeconds }: { durationSeconds: number | null }): number {
  return 1_000 * (durationSeconds ?? Infinity);
}

/** Runs an agent with a deadline. Returns the milliseconds from the start to the end, too. */
async function runInTime({
  agent = agentWith(),
  script,
}: Pick<Waiting, 'agent' | 'script'>): Promise<TestedRun<unknown, unknown> & { ms: number }> {
  const run = await testAgent(agent, { input: 'Go', deadline: DEADLINE, model: scriptedModel(script, { repeatLast: true }) });
  return { ...run, ms: milliseconds(run.result) };
}

describe('the deadline of a run', () => {
  test.each(WAITS)('ends a run that waits $waits', async (waiting) => {
    const { result, ms } = await runInTime(waiting);
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
    expect({ isBefore: ms < 1_000, isLate: ms > 6_000 }).toEqual({ isBefore: false, isLate: false });
  });

  test('is not passed by any attempt', async () => {
    const { requests } = await runInTime({ script: refusing });
    const before = requests.length;
    await sleep(20);
    expect(requests).toHaveLength(before);
  });

  test('keeps the part of an answer that has arrived', async () => {
    const { events } = await runInTime({ script: [hang('Once upon')] });
    expect(events.at(-1)).toMatchObject({ interrupted: true, content: [{ content: 'Once upon' }] });
  });

  test('gives up a tool call, whose result says so', async () => {
    const { steps } = await runInTime({ agent: agentWith(endless), script: [callTool('endless')] });
    expect(steps[0]?.toolCalls[0]?.result).toBe('Tool call was running at the deadline of the run; its outcome is unknown.');
  });

  test('waits for a call that must take effect once, and records its result', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays',
      parameters: none,
      effect: 'once',
      execute: () => sleep(1_300).then(() => 'paid'),
    });
    const { result, steps, requests } = await runInTime({ agent: agentWith(pay), script: [callTool('pay')] });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: 'pay', result: 'paid' }]);
    expect(requests).toHaveLength(1);
  });

  test('asks a person instead, if the run asks at its limits', async () => {
    const slow = defineTool({ name: 'slow', description: 'Is slow', parameters: none, execute: () => sleep(60).then(() => 'seen') });
    const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [slow], limits: { deadline: '50ms' }, onLimit: 'ask' });
    const asked: (string | undefined)[] = [];
    const { result } = await testAgent(agent, {
      input: 'Go',
      model: scriptedModel([callTool('slow'), say('Done.')]),
      decide: ({ toolName }) => {
        asked.push(toolName);
        return { type: 'approve', arguments: { deadlineMs: 60_000 } } as never;
      },
    });
    expect({ status: result.status, asked }).toEqual({ status: 'completed', asked: ['raise_limits'] });
  });
});

describe('the deadline of a program', () => {
  test.each([
    ['a model call', [ask('One', 'Why?')], refusing],
    ['parallel model calls', [forEach('Each', '{{input.items}}', { as: 'item', atOnce: 2 }, [ask('One', 'About {{item}}')])], refusing],
    ['the next attempt of a tool call', [toolStep('One', failing, {})], []],
    ['a tool that does not end', [toolStep('One', endless, {})], []],
    ['a person', [human('One', 'Why?')], []],
    ['an agent', [agentStep('One', agentWith(), 'Go')], refusing],
  ])('ends one that waits for %s', async (_, steps, script) => {
    const program = defineProgram({
      name: 'late',
      model: 'scripted/m',
      input: z.object({ items: z.array(z.number()) }),
      units: [unit('all', {}, steps)],
    });
    const { result } = await testProgram(program, {
      input: { items: [1, 2] },
      deadline: DEADLINE,
      model: scriptedModel(script, { repeatLast: true }),
    });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
    const ms = milliseconds(result);
    expect({ isBefore: ms < 1_000, isLate: ms > 6_000 }).toEqual({ isBefore: false, isLate: false });
  });
});
