import { z } from 'zod';
import { defineTool } from '../../../../src/define/define-tool.ts';
import type { AnyTool } from '../../../../src/define/tool-definition.ts';
import { defineProgram, tool as toolStep, unit } from '../../../../src/define/program/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { StepError } from '../../../../src/core/domain/verdicts.ts';
import { unknownTool } from '../../../../src/core/domain/tool-calls.ts';
import { scriptedModel, testProgram } from '../../../../src/testing/index.ts';
import { number, object, only, text } from '../fields.ts';

const REGISTERED = ['returns', 'throws', 'hangs', 'timeout_s', 'is_stub'];

/** The longest time that a case may really wait for the timeout of a tool. */
const LONGEST_MS = 100;

/** Operation `dispatch.run`: a program with one tool step. */
export async function dispatch({ registered, tool, argument }: JsonObject): Promise<unknown> {
  const definitions = readRegistered(registered);
  const name = text(tool);
  const definition = definitions.find((one) => one.name === name);
  const step = toolStep('call', definition === undefined ? name : toTool(name, definition), { query: text(argument) });
  const program = defineProgram({ name: 'program', lenient: true, units: [unit('unit', {}, [step])] });
  const { result } = await testProgram(program, { model: scriptedModel([]) });
  const [called] = result.units[0]?.steps ?? [];
  if (called?.error === undefined) {
    return {
      success: result.success,
      data: called?.output ?? null,
      error: null,
      metadata: { tool_name: name, is_stub: isStub(definition) },
    };
  }
  const error = worded(called.error, { name, definition, names: definitions.map((one) => one.name) });
  const timeOut = definition?.['hangs'] === undefined ? {} : { timeout_seconds: definition['timeout_s'] };
  return { success: result.success, data: null, error, metadata: { tool_name: name, ...timeOut } };
}

/** A tool of a case. */
export type Registered = JsonObject & { name: string };

/** Reads the tools of a case. */
export function readRegistered(registered: JsonValue | undefined): Registered[] {
  return Object.entries(object(registered)).map(([name, one]) => ({ ...only('A tool', one, REGISTERED), name }));
}

/** Translates a tool of a case. */
export function toTool(name: string, { returns, throws, hangs, timeout_s }: JsonObject): AnyTool {
  const timeoutMs = Math.min(number(timeout_s, 30) * 1000, LONGEST_MS);
  return defineTool({
    name,
    description: name,
    parameters: z.object({ query: z.string() }),
    maxAttempts: 1,
    ...(hangs === undefined ? {} : { timeout: timeoutMs }),
    execute: () => {
      if (throws !== undefined) throw new Error(text(throws));
      if (hangs !== undefined) return new Promise<never>(() => undefined);
      if (!isResult(returns)) return returns ?? null;
      if (returns['success'] === false) throw new Error(text(returns['error']));
      return returns['data'] ?? null;
    },
  });
}

/** A case writes the data that a tool returns, or the whole result with its data. */
function isResult(returns: JsonValue | undefined): returns is JsonObject {
  return isJsonObject(returns) && typeof returns['success'] === 'boolean';
}

function isStub(definition: JsonObject | undefined): boolean {
  const { metadata } = isResult(definition?.['returns']) ? definition['returns'] : {};
  return definition?.['is_stub'] === true || (isJsonObject(metadata) && metadata['is_stub'] === true);
}

/** Puts the failure of a tool in AXON's words. */
function worded(
  { message, context: { details = '' } }: StepError,
  { name, definition, names }: { name: string; definition: Registered | undefined; names: string[] },
): string {
  if (details === unknownTool(name)) return notRegistered(name, names);
  if (details.startsWith(`Tool '${name}' timed out`)) return `Tool '${name}' timed out after ${number(definition?.['timeout_s'], 30)}s`;
  return isResult(definition?.['returns']) ? details : message;
}

/** AXON's words for a tool that is not registered. */
export function notRegistered(name: string, registered: readonly string[]): string {
  return `Tool not found: "Tool '${name}' not registered. Available: ${registered.toSorted().join(', ') || '(none)'}"`;
}
