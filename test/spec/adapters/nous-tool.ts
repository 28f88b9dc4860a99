import { ApplicationFailure } from '@temporalio/common';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { runToolActivity } from '../../../activities/tool-calls/run-tool.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { ToolFailure } from '../../../src/define/tool-failure.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import { resultText } from '../../../src/core/domain/content/tool-text.ts';
import type { RunToolInput, RunToolOutput } from '../../../src/core/protocol.ts';
import { checkJson } from '../../../src/core/json-schema/check-json-schema.ts';
import { scriptedModel } from '../../../src/testing/index.ts';
import { activityWorld } from '../../activities/activity-world.ts';
import { list, number, object, text } from './fields.ts';
import { validationText } from './nous-validation.ts';

/** The operation `tool.execute`: one call of a tool, with the attempts that its policy allows. */
export async function executeNousTool({ tool, behaviour, args }: JsonObject): Promise<JsonObject> {
  const { name, retries, timeout_ms, parameters, validate_args } = object(tool ?? {});
  const called = text(name, 'x');
  const given = object(args ?? {});
  const problems = validate_args === false || parameters === undefined ? [] : checkJson(object(parameters), given);
  if (problems.length > 0) {
    return {
      error: { kind: 'validation_error', message: `Invalid arguments for '${called}': ${validationText(problems)}`, attempts: 0 },
      ctx_retry: [],
    };
  }
  const seen: number[] = [];
  const timeoutMs = number(timeout_ms, 30_000);
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/model',
    tools: [
      defineTool({
        name: called,
        description: 'Behaves as the case says.',
        parameters: z.looseObject({}),
        timeout: timeoutMs,
        maxAttempts: number(retries, 1) + 1,
        execute: (_, context) => {
          seen.push(context.retry);
          return behave(object(list(behaviour)[seen.length - 1] ?? list(behaviour).at(-1) ?? {}));
        },
      }),
    ],
  });
  const maximumAttempts = number(retries, 1) + 1;
  const world = (attempt: number): ReturnType<typeof activityWorld> =>
    activityWorld({ agents: [agent], model: scriptedModel([]), info: { activityType: called, attempt, retryPolicy: { maximumAttempts } } });
  const output = await attempts(world, { arguments: given, timeoutMs });
  const outcome = output.isError
    ? { error: { kind: kindOf(output), message: resultText(output.content), attempts: seen.length } }
    : { ok: output.content[0] ?? null, attempts: seen.length };
  return { ...outcome, ctx_retry: seen };
}

function kindOf({ content }: RunToolOutput): string {
  return resultText(content).includes('timed out after') ? 'tool_timeout' : 'tool_error';
}

function behave(step: JsonObject): JsonValue | Promise<JsonValue> {
  if (step['throw'] !== undefined) throw new Error(text(step['throw'], JSON.stringify(step['throw'])));
  // What is returned as an error is not tried again.
  if (step['error'] !== undefined) throw new ToolFailure(text(step['error'], JSON.stringify(step['error'])));
  if (step['hang'] === true) return new Promise(() => undefined);
  return step['ok'] ?? null;
}

/** Each attempt as Temporal would make it. Nothing waits: the clock is moved to the end of an attempt that hangs. */
async function attempts(
  world: (attempt: number) => ReturnType<typeof activityWorld>,
  input: Pick<RunToolInput, 'arguments' | 'timeoutMs'>,
): Promise<RunToolOutput> {
  for (let attempt = 1; ; attempt += 1) {
    const { run, runtime } = world(attempt);
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const call = { agentName: 'a', callId: 'c1', step: 1, at: [1, 0] as [number, number], eventId: 'e1', ...input };
      const ended = run(runToolActivity(runtime), call);
      ended.catch(() => undefined);
      for (let turn = 0; turn < 10; turn += 1) await setImmediate();
      mock.timers.tick(input.timeoutMs ?? 0);
      return await ended;
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || error.nonRetryable) throw error;
    } finally {
      mock.timers.reset();
    }
  }
}
