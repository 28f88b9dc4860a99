import { z } from 'zod';
import { tryAgain } from '../../src/core/domain/content/tool-text.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { isInstance } from '../../src/core/domain/errors/thrown.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../src/core/domain/json/json-depth.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { ContextOperation } from '../../src/core/domain/record/context-update.ts';
import { operationProblem } from '../../src/core/domain/record/operation-problem.ts';
import { isUpdatingResult } from '../../src/define/context/context-update.ts';
import type { RunContext } from '../../src/define/context/run-context.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import { isModelRetry, isToolFailure } from '../../src/define/tools/tool-failure.ts';
import { isToolOutput, type ToolOutput } from '../../src/define/tools/tool-output.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import { UnknownOutcome } from './unknown-outcome.ts';

/** One call to execute. */
interface Execution {
  tool: AnyTool;
  args: JsonObject;
  context: RunContext;
}

/** The outcome of one attempt. */
export interface Executed {
  /** The texts, joined by line breaks into one value, then everything else; empty if the tool returned nothing. */
  content: JsonValue[];
  isError: boolean;
  /** The changes to deps. */
  update?: ContextOperation[];
  /** Set if the tool asks the model to try again. */
  asksRetry?: true;
  /** The error that the tool threw, if it may be retried. */
  thrown?: { error: unknown };
  /** The error that the tool threw for the model to read: a `ToolFailure` or a `ModelRetry`. */
  modelError?: { error: unknown };
  /** The answers of hooks about the result. */
  hooks?: HookRecord[];
  /** Milliseconds. */
  durationMs: number;
}

/** A result without its duration. */
type Outcome = Omit<Executed, 'durationMs'>;

/**
 * Executes a tool: parses the arguments with its zod schema, calls `execute`, and converts the result to JSON. Any
 * failure becomes an error result for the model. Rejects only with the reason of an aborted `context.signal`, and with
 * `UnknownOutcome`.
 */
export async function executeTool({ tool, args, context }: Execution): Promise<Executed> {
  const startedAt = performance.now();
  return { ...(await execute(tool, args, context)), durationMs: performance.now() - startedAt };
}

async function execute(tool: AnyTool, args: JsonObject, context: RunContext): Promise<Outcome> {
  try {
    const parsed = await tool.parameters.safeParseAsync(args);
    if (!parsed.success) return failure(`Invalid arguments for '${tool.name}': ${z.prettifyError(parsed.error)}`);
    const returned = await tool.execute(parsed.data as never, context as never);
    return await toOutcome(tool, returned);
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    if (isInstance(error, UnknownOutcome)) throw error;
    return thrownOutcome(tool.name, error);
  }
}

function thrownOutcome(name: string, error: unknown): Outcome {
  const message = errorMessage(error) || `Tool '${name}' failed without a message`;
  if (isModelRetry(error)) return { ...failure(tryAgain(message)), asksRetry: true, modelError: { error } };
  return isToolFailure(error) ? { ...failure(message), modelError: { error } } : { ...failure(message), thrown: { error } };
}

/** Converts the value that a tool or its `verify` returned into a result. */
export async function toOutcome(tool: AnyTool, returned: unknown): Promise<Outcome> {
  if (!isUpdatingResult(returned)) return bareOutcome(tool, returned);
  const update = updateFrom(tool.name, returned.update);
  if (!update.ok) return failure(update.problem);
  const outcome = await bareOutcome(tool, returned.result);
  return outcome.isError ? outcome : { ...outcome, update: update.operations };
}

async function bareOutcome(tool: AnyTool, returned: unknown): Promise<Outcome> {
  if (isToolOutput(returned)) return blocksOutcome(tool, returned);
  const { value: bare, update } = tool.legacyUpdates ? withoutLegacyUpdate(returned) : { value: returned };
  const operations = update === undefined ? undefined : updateFrom(tool.name, update);
  if (operations?.ok === false) return failure(operations.problem);
  // A schema that refers to itself would overflow the stack.
  if (isTooDeep(bare)) return notJson(tool.name);
  const checked = await tool.result?.safeParseAsync(bare);
  if (checked !== undefined && !checked.success) {
    return failure(`Tool '${tool.name}' returned a value that does not fit its result schema: ${z.prettifyError(checked.error)}`);
  }
  const outcome = valueOutcome(tool.name, checked === undefined ? bare : checked.data);
  return outcome.isError || operations === undefined ? outcome : { ...outcome, update: operations.operations };
}

function valueOutcome(name: string, value: unknown): Outcome {
  if (value === undefined || value === null) return { content: [], isError: false };
  // JSON would turn these into null.
  if (typeof value === 'number' && !Number.isFinite(value)) return { content: [String(value)], isError: false };
  const plain = cleanJson(value);
  return plain === undefined ? notJson(name) : { content: [plain], isError: false };
}

/** Converts several blocks: the texts first, joined by line breaks into one value. */
function blocksOutcome(tool: AnyTool, { content, isError }: ToolOutput): Outcome {
  const blocks = content.map(cleanJson).filter((block) => block !== undefined);
  if (blocks.length < content.length) return notJson(tool.name);
  const texts = blocks.map(textOf).filter((text) => text !== undefined);
  const others = blocks.filter((block) => textOf(block) === undefined);
  return { content: [...(texts.length > 0 ? [texts.join('\n')] : []), ...others], isError };
}

/** Returns the text of a text block, and undefined for any other. */
function textOf(block: JsonValue): string | undefined {
  if (typeof block === 'string') return block;
  return isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : undefined;
}

function notJson(name: string): Outcome {
  return failure(
    `Tool '${name}' returned a value that is not JSON (a bigint, a function, a cycle, or nested deeper than ${MAX_JSON_DEPTH} levels)`,
  );
}

function failure(message: string): Outcome {
  return { content: [message.toWellFormed()], isError: true };
}

/** The operations of an update that a tool returned, or the reason why it is refused. */
type ReturnedUpdate = { ok: true; operations: ContextOperation[] } | { ok: false; problem: string };

/** The field of a plain result that holds changes to deps, for tools with `legacyUpdates`. */
const LEGACY_KEY = '__update_context__';

/** Checks an update that a tool returned: a value that is not JSON, or must not be in deps, is refused with its path. */
export function updateFrom(toolName: string, update: unknown): ReturnedUpdate {
  const refused = (problem: string): ReturnedUpdate => ({
    ok: false,
    problem: `The update of the deps by tool '${toolName}' was refused, and changed nothing: ${problem}`,
  });
  if (!hasOperations(update)) return refused('it has no list of operations: write contextUpdate().set(key, value)');
  const operations: ContextOperation[] = [];
  for (const operation of update.operations) {
    const problem = operationProblem(operation as ContextOperation | null);
    if (problem !== undefined) return refused(problem);
    operations.push(cleanJson(operation) as ContextOperation);
  }
  // All operations are recorded, including those that a later one undoes.
  const bytes = jsonBytes(operations);
  return bytes <= BYTE_BUDGETS.deps
    ? { ok: true, operations }
    : refused(`its operations are ${bytes} bytes of JSON, over ${BYTE_BUDGETS.deps}`);
}

function hasOperations(update: unknown): update is { operations: readonly unknown[] } {
  return typeof update === 'object' && update !== null && 'operations' in update && Array.isArray(update.operations);
}

/** Separates a result from the changes in its legacy field, which become `set` operations. */
function withoutLegacyUpdate(returned: unknown): { value: unknown; update?: { operations: ContextOperation[] } } {
  if (!isPlainObject(returned) || !Object.hasOwn(returned, LEGACY_KEY)) return { value: returned };
  const { [LEGACY_KEY]: changes, ...value } = returned;
  if (!isPlainObject(changes)) return { value };
  const operations = Object.entries(changes).map(([key, one]) => ({ op: 'set', key, value: one }) as ContextOperation);
  return { value, update: { operations } };
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
