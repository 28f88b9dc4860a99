import type { ApplicationFailure } from '@temporalio/common';
import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createActivities } from '../../../activities/create-activities.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import { defineAgent, defineTool, ModelRetry, ToolFailure, type ToolOptions } from '../../../src/index.ts';
import { logLine } from '../../../src/log/log-writer.ts';
import type { RunToolInput, RunToolOutput } from '../../../src/core/protocol.ts';
import { approve, callTool, say, scriptedModel, testAgent, type TestedRun } from '../../../src/testing/index.ts';
import { activityEnvironment, type ActivityEnvironment } from '../activity-environment.ts';

const VALUE = 'v8-Kq2-x91';
const HERE = /at .*pay .*\(.*tool-errors\.test\.ts:\d+:\d+\)/;

type Execute = ToolOptions<z.ZodObject, Record<string, unknown>, unknown>['execute'];

/** Runs one attempt of a tool as a worker does, of as many as its policy allows. */
function attemptOf(
  execute: Execute,
  { attempt = 1, tier = 'remote' }: { attempt?: number; tier?: 'local' | 'remote' } = {},
): ActivityEnvironment & { act: () => Promise<unknown> } {
  const options = { name: 'act', description: 'Acts', parameters: z.object({}) };
  const act = execute === 'none' ? defineTool({ ...options, execute }) : defineTool({ ...options, tier, execute });
  const agents = [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [act] })];
  const isLocal = tier === 'local';
  const info = { activityType: 'act', attempt, isLocal, retryPolicy: { maximumAttempts: 3 } };
  const environment = activityEnvironment({ agents, info, secrets: new SecretVault(() => VALUE) });
  const input: RunToolInput = { agentName: 'clerk', callId: 'c1', step: 1, at: [1, 0], eventId: 'e1', arguments: {}, timeoutMs: 50 };
  const activity = createActivities(environment.runtime)['act'] as (input: RunToolInput) => Promise<RunToolOutput>;
  return { ...environment, act: () => environment.run(activity, input) };
}

function pay(): never {
  throw new TypeError('no account', { cause: new Error('no row') });
}

describe.each(['remote', 'local'] as const)('an error thrown by a %s tool', (tier) => {
  test("fails an attempt with the author's stack and cause", async () => {
    const failure = (await attemptOf(pay, { tier })
      .act()
      .catch((error: unknown) => error)) as ApplicationFailure;
    expect(failure).toMatchObject({ type: 'tool_failed', message: 'no account', cause: { message: 'no row' } });
    expect(failure.stack).toMatch(HERE);
    expect(failure.cause?.stack).toMatch(HERE);
  });

  test('is logged at every attempt with the stack, and at the last attempt as an error', async () => {
    const levels: string[] = [];
    for (const attempt of [1, 2, 3]) {
      const environment = attemptOf(pay, { tier, attempt });
      await environment.act().catch(() => undefined);
      expect(environment.logged).toHaveLength(1);
      expect(environment.logged.map((entry) => logLine(entry)).join('\n')).toMatch(HERE);
      levels.push(...environment.logged.map(({ level }) => level));
    }
    expect(levels).toEqual(['WARN', 'WARN', 'ERROR']);
  });
});

test('a tool that has become a schema alone answers runs that began before with an error, at the first attempt', async () => {
  const output = await attemptOf('none').act();
  expect(output).toMatchObject({
    isError: true,
    content: ["Tool 'act' is not executable: nothing implements it. Go on without its result."],
  });
});

test('the last log line names the call and the run', async () => {
  const environment = attemptOf(pay, { attempt: 3 });
  await environment.act();
  expect(environment.logged[0]).toMatchObject({ message: 'Tool "act" threw', meta: { agent: 'clerk', step: 1, callId: 'c1', attempt: 3 } });
});

test.each([1, 3])('the failure and the log of attempt %d contain no secret', async (attempt) => {
  const leak: Execute = async (_, { secret }) => {
    const value = await secret('crm-token');
    throw new Error(`refused ${value}`, { cause: new Error(`by ${value}`) });
  };
  const environment = attemptOf(leak, { attempt });
  const failure: unknown = await environment.act().catch((error: unknown) => error);
  const shown = inspect([failure, environment.logged], { depth: 9 });
  expect(shown).not.toContain(VALUE);
  expect(shown).toContain('refused [secret "crm-token"]');
});

test.each([
  ['a ToolFailure', new ToolFailure('closed')],
  ['a ModelRetry', new ModelRetry('again')],
])('%s is meant for the model: its stack is logged at debug level only', async (_, thrown) => {
  const environment = attemptOf(() => {
    throw thrown;
  });
  await environment.act();
  expect(environment.logged.map(({ level }) => level)).toEqual(['DEBUG']);
  expect(environment.logged.map((entry) => logLine(entry)).join('\n')).toContain('tool-errors.test.ts');
});

test('a tool that exceeds its time limit at its last attempt is logged as an error', async () => {
  const environment = attemptOf(() => new Promise(() => undefined), { attempt: 3 });
  await environment.act();
  expect(environment.logged).toMatchObject([{ level: 'ERROR', meta: { error: { message: "Tool 'act' timed out after 50ms" } } }]);
});

test('a predicate of "approval" that throws is logged with its stack: the approver sees the message alone', async () => {
  const guarded = defineTool({ name: 'guarded', description: 'Acts', parameters: z.object({}), approval: pay, execute: () => 'acted' });
  const { result, log } = await logOf(() =>
    testAgent(defineAgent({ name: 'clerk', model: 'scripted/m', tools: [guarded] }), {
      input: 'Go',
      model: scriptedModel([callTool('guarded'), say('Done.')]),
      decide: () => approve(),
    }),
  );
  expect(result.status).toBe('completed');
  expect(log).toMatch(HERE);
  expect(log).toContain('"approval" of tool "guarded" threw');
});

test('testAgent prints the stack of the last attempt on stderr, and earlier attempts if the log level allows it', async () => {
  const act = defineTool({ name: 'act', description: 'Acts', parameters: z.object({}), maxAttempts: 2, execute: pay });
  const run = (): Promise<TestedRun> =>
    testAgent(defineAgent({ name: 'clerk', model: 'scripted/m', tools: [act] }), {
      input: 'Go',
      model: scriptedModel([callTool('act'), say('It failed.')]),
    });
  const { log } = await logOf(run);
  expect(log.match(/Tool "act" threw/g)).toHaveLength(1);
  expect(log).toMatch(HERE);
  const { log: more } = await logOf(run, 'INFO');
  expect(more.match(/pay .*tool-errors\.test\.ts/g)?.length).toBeGreaterThan((log.match(/pay .*tool-errors\.test\.ts/g) ?? []).length);
});

test('if instructions throw, the run fails with the place in the source', async () => {
  const { result, log } = await logOf(
    () => testAgent(defineAgent({ name: 'clerk', model: 'scripted/m', instructions: pay }), { input: 'Go', model: scriptedModel([]) }),
    'WARN',
  );
  expect(result).toMatchObject({ status: 'error', error: 'The instructions of agent "clerk" failed: no account' });
  expect(log).toMatch(HERE);
});

/** The outcome of a run in memory, and its output on stderr. */
async function logOf(run: () => Promise<TestedRun>, level?: string): Promise<TestedRun & { log: string }> {
  vi.stubEnv('LONGHAUL_LOG_LEVEL', level);
  const lines: string[] = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  try {
    return { ...(await run()), log: lines.join('') };
  } finally {
    write.mockRestore();
  }
}
