import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import { ToolFailure } from '../../../../src/define/tool-definition.ts';
import type { ToolResult } from '../../../../src/core/domain/content.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { resultText } from '../../../../src/core/domain/tool-calls.ts';
import { callTool, say } from '../../../../src/testing/index.ts';
import type { Operation } from '../adapter.ts';
import { list, number, object, only, said, text } from '../fields.ts';
import { runWithKit } from '../kit-run.ts';
import { invalidArgumentsText } from './validation.ts';

/** One call of a tool, with the attempts that its policy allows. */
export const executeTool: Operation = {
  input: ['tool', 'behaviour', 'args'],
  expect: ['ok', 'error', 'attempts', 'ctx_retry'],
  perform: executeNousTool,
};

const TOOL = ['name', 'retries', 'timeout_ms', 'parameters', 'validate_args'];

async function executeNousTool({ tool, behaviour, args }: JsonObject): Promise<JsonObject> {
  const { name, retries, timeout_ms, parameters, validate_args } = only('A tool', tool ?? {}, TOOL);
  const called = text(name, 'x');
  const timeoutMs = number(timeout_ms, 30_000);
  const seen: number[] = [];
  const steps = list(behaviour).map((step) => only('A behaviour', step, ['ok', 'throw', 'error', 'hang']));
  const checked = defineTool({
    name: called,
    description: 'Behaves as the case says.',
    parameters: validate_args === false ? z.looseObject({}) : parametersOf(object(parameters ?? {})),
    timeout: timeoutMs,
    maxAttempts: number(retries, 1) + 1,
    execute: (_, context) => {
      seen.push(context.retry);
      return behave(steps[seen.length - 1] ?? steps.at(-1) ?? {}, timeoutMs);
    },
  });
  const agent = defineAgent({ name: 'a', model: 'scripted/model', instructions: [], tools: [checked] });
  const script = [callTool(called, args ?? {}), say('done')];
  const { events } = await atTheirTime(() => runWithKit({ agent, script, input: 'Q', steps: 2, timeout: '1d' }));
  const result = events.flatMap(({ content }) => content).find((item) => item.type === 'tool_result');
  if (result === undefined) throw new Error('The run has no result of the call');
  return { ...toTheirOutcome(result, seen.length, args ?? {}), ctx_retry: seen };
}

/** A schema of the case, passed to the product unchanged: the product finds out which values fit it. */
function parametersOf(schema: JsonObject): z.ZodObject<z.core.$ZodLooseShape> {
  return z.looseObject({}).meta(schema);
}

function toTheirOutcome({ status, content }: ToolResult, attempts: number, args: JsonValue): JsonObject {
  if (status === 'success') return { ok: content[0] ?? null, attempts };
  const message = resultText(content);
  const invalid = invalidArgumentsText(message, args);
  if (invalid !== undefined) return { error: { kind: 'validation_error', message: invalid, attempts } };
  return { error: { kind: TIMED_OUT.test(message) ? 'tool_timeout' : 'tool_error', message, attempts } };
}

const TIMED_OUT = /^Tool '.*' timed out after /;

function behave({ throw: thrown, error, hang, ok = null }: JsonObject, timeoutMs: number): JsonValue | Promise<JsonValue> {
  if (thrown !== undefined) throw new Error(said(thrown));
  // Nous does not try a call again that returned an error.
  if (error !== undefined) throw new ToolFailure(said(error));
  return hang === true ? hangUntil(timeoutMs) : ok;
}

/** Moves the clock to the end of the attempt. */
async function hangUntil(timeoutMs: number): Promise<never> {
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  mock.timers.tick(timeoutMs);
  return new Promise(() => undefined);
}

/** No other timer runs during an attempt: the clock stands still unless a tool hangs. */
async function atTheirTime<Result>(run: () => Promise<Result>): Promise<Result> {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    return await run();
  } finally {
    mock.timers.reset();
  }
}
