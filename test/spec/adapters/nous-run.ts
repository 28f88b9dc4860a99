import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../../src/define/tool-definition.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import type { RunResultFields } from '../../../src/core/domain/run/run-result.ts';
import type { ToolCallRecord } from '../../../src/core/domain/record/step.ts';
import { unknownTool } from '../../../src/core/domain/content/tool-text.ts';
import { Confirmer } from './confirmer.ts';
import { list, number, object, text } from './fields.ts';
import { type FinishedRun, runInProcess } from './in-process-run.ts';
import { toAnswer } from './scripted-answers.ts';

/** The operation `run.loop`: a whole run, in the words of Nous. */
export async function runNousLoop(input: JsonObject): Promise<JsonObject> {
  const { model, tools, max_iterations, parallel, approval, cancel_before_iteration } = input;
  const maxIterations = number(max_iterations, 10);
  const defined = Object.entries(object(tools ?? {}));
  const people = new Confirmer(decisions(list(model), approval));
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/model',
    instructions: [],
    tools: defined.map(([name, tool]) => toTool(name, object(tool))),
    parallel: parallel === true,
  });
  const finished = await runInProcess({
    agent,
    instructions: [],
    script: list(model).map(toAnswer),
    input: 'Q',
    deps: object(input['deps'] ?? {}),
    maxIterations,
    structuredOutput: true,
    people: (waiting, givenIds) => people.confirm(waiting, givenIds),
    ...(cancel_before_iteration === undefined ? {} : { cancelBeforeStep: number(cancel_before_iteration, 1) }),
  });
  return { ...toTheirResult(finished, { maxIterations, reason: text(input['cancel_reason']) }), tool_messages: toolMessages(finished) };
}

/** Without a handler, and for an answer that is none, Nous rejects. */
function decisions(model: JsonValue[], approval: JsonValue | undefined): JsonValue[] {
  const ids = model.flatMap((entry) => list(object(entry)['tool_calls']).map((call) => object(call)['id'] ?? null));
  const edited = typeof approval === 'object' && approval !== null ? object(approval)['edit'] : undefined;
  return ids.map((id) => ({
    tool_call_id: id,
    approved: approval === 'approve' || edited !== undefined,
    ...(edited === undefined ? {} : { modified_arguments: edited }),
  }));
}

function toTool(name: string, { returns, throws, delay_ms, requires_approval }: JsonObject): ToolDefinition<never, JsonObject> {
  return defineTool({
    name,
    description: 'Does what the case says.',
    parameters: z.looseObject({}),
    approval: requires_approval === true ? 'always' : 'never',
    execute: async () => {
      if (delay_ms !== undefined) await delay(number(delay_ms, 0));
      if (throws !== undefined) throw new Error(text(throws, JSON.stringify(throws)));
      return returns;
    },
  });
}

function toTheirResult({ result, state }: FinishedRun, { maxIterations, reason }: { maxIterations: number; reason: string }): JsonObject {
  if (result === undefined) throw new Error('The run waits for somebody');
  const error = errorOf(result, maxIterations, reason);
  if (error !== undefined) return { error };
  return { output: result.output, iterations: state.context.currentStep, usage_tool_calls: result.toolCallsTotal };
}

function errorOf({ status, error }: RunResultFields, maxIterations: number, reason: string): JsonObject | undefined {
  switch (status) {
    case 'completed':
      return undefined;
    case 'max_iterations_reached':
      return { kind: 'max_iterations_exceeded', message: `Maximum iterations exceeded (${maxIterations})` };
    case 'cancelled':
      return { kind: 'execution_cancelled', message: `Execution cancelled: ${reason}` };
    case 'error':
      return { kind: 'model_error', message: error ?? '' };
  }
}

function toolMessages({ state }: FinishedRun): JsonValue[] {
  return state.steps.flatMap(({ toolCalls }) => toolCalls.map(toTheirMessage));
}

/** A result that says that a call did not run is in our words; that a tool failed is said by Nous around what it threw. */
function toTheirMessage({ toolName, result, isError }: ToolCallRecord): string {
  if (!isError) return result;
  if (result.startsWith('User denied the tool execution.')) return 'Tool call was rejected by approval handler.';
  if (result === unknownTool(toolName)) return `Tool not found: ${toolName}`;
  if (result.startsWith('Error: ') || result.startsWith('Tool call was interrupted')) return result;
  if (result.startsWith('Invalid arguments for')) return result;
  return `Tool execution failed: ${toolName}\nError: ${result}\nPlease try a different approach or tool if available.`;
}
