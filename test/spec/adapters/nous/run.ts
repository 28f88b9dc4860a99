import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../../../src/define/tool-definition.ts';
import { deniedByHook } from '../../../../src/core/domain/hooks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { RunResult } from '../../../../src/core/domain/result.ts';
import { requestedCalls, type ToolCallRecord, unknownTool } from '../../../../src/core/domain/tool-calls.ts';
import { approve, cancelRun, reject, type TestDecision } from '../../../../src/testing/index.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, flag, list, number, object, only, said, text } from '../fields.ts';
import { endOf, runWithKit } from '../kit-run.ts';
import { toHooks } from './hooks.ts';
import { invalidArgumentsText } from './validation.ts';
import { toAnswer } from '../scripted-answers.ts';

/** A whole run, in the words of Nous. */
export const runLoop: Operation = {
  input: ['model', 'tools', 'deps', 'hooks', 'max_iterations', 'parallel', 'approval', 'cancel_before_iteration', 'cancel_reason'],
  expect: ['output', 'iterations', 'error', 'tool_messages', 'usage_tool_calls'],
  perform: runNousLoop,
};

async function runNousLoop(input: JsonObject): Promise<JsonObject> {
  const { model, tools, deps, hooks, max_iterations, parallel, approval, cancel_before_iteration, cancel_reason } = input;
  const defined = Object.entries(object(tools ?? {}));
  const decision = toDecision(approval);
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/model',
    instructions: [],
    tools: defined.map(([name, tool]) => toTool(name, tool)),
    hooks: toHooks(hooks),
    parallel: flag(parallel),
  });
  const played = await runWithKit({
    agent,
    script: list(model).map(toAnswer),
    input: 'Q',
    deps: object(deps ?? {}),
    steps: number(max_iterations, 10),
    decide: () => decision,
    meanwhile: cancel_before_iteration === undefined ? [] : [cancelRun(text(cancel_reason), { step: number(cancel_before_iteration, 1) })],
  });
  const result = endOf(played);
  const messages = played.steps.flatMap(({ toolCalls }) => toolCalls.map(toTheirMessage));
  return { ...toTheirResult(result), tool_messages: messages };
}

/** Translates the answer of a case's handler. Without a handler, or with an invalid answer, there is no decision. */
function toDecision(approval: JsonValue | undefined): TestDecision | undefined {
  if (isJsonObject(approval)) return approve({ arguments: object(only('An approval', approval, ['edit'])['edit']) });
  if (approval === 'approve') return approve();
  return approval === 'reject' ? reject() : undefined;
}

const TOOL = ['returns', 'returns_args', 'throws', 'delay_ms', 'requires_approval'];

function toTool(name: string, tool: JsonValue): ToolDefinition<never, JsonObject> {
  const { returns, returns_args, throws, delay_ms, requires_approval } = only(`Tool "${name}"`, tool, TOOL);
  if (returns !== undefined && returns_args !== undefined) throw new CaseProblem(`Tool "${name}" has "returns" and "returns_args"`);
  const [delayMs, returnsArguments] = [number(delay_ms, 0), flag(returns_args)];
  return defineTool({
    name,
    description: 'Does what the case says.',
    parameters: z.looseObject({}),
    // A tool of Nous is retried once.
    maxAttempts: 2,
    // The product denies a call without a decision at its deadline.
    approval: flag(requires_approval) ? { deadline: '1m' } : 'never',
    execute: async (args) => {
      if (delayMs > 0) await delay(delayMs);
      if (throws !== undefined) throw new Error(said(throws));
      return returnsArguments ? args : returns;
    },
  });
}

function toTheirResult(result: RunResult<unknown>): JsonObject {
  const error = errorOf(result);
  if (error !== undefined) return { error };
  return { output: result.output as JsonValue, iterations: result.stepsUsed, usage_tool_calls: requestedCalls(result) };
}

function errorOf({ status, stopReason, error, cancelReason, limits }: RunResult<unknown>): JsonObject | undefined {
  switch (status) {
    case 'completed':
      return undefined;
    case 'max_iterations_reached':
      return { kind: 'max_iterations_exceeded', message: `Maximum iterations exceeded (${limits.steps})` };
    case 'limit_reached':
      throw new CaseProblem(`The seed has no other limit than that of steps: the run ended with ${stopReason}`);
    case 'cancelled':
      return { kind: 'execution_cancelled', message: `Execution cancelled: ${cancelReason}` };
    case 'error':
      return { kind: 'model_error', message: error };
  }
}

/** Returns a result in the words of Nous, which adds its own words to an error that a tool threw. */
function toTheirMessage({ toolName, result, isError, arguments: args }: ToolCallRecord): string {
  if (!isError) return result;
  if (result.startsWith('User denied the tool execution.')) return 'Tool call was rejected by approval handler.';
  const denied = deniedByHook(toolName, undefined).slice(0, -1);
  if (result.startsWith(denied)) return `Tool call was denied by hook${result.slice(denied.length)}`;
  if (result === unknownTool(toolName)) return `Tool not found: ${toolName}`;
  if (result.startsWith('Error: ') || result.startsWith('Tool call was interrupted')) return result;
  const invalid = invalidArgumentsText(result, args);
  if (invalid !== undefined) return invalid;
  return `Tool execution failed: ${toolName}\nError: ${result}\nPlease try a different approach or tool if available.`;
}
