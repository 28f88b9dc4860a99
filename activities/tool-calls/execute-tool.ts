import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import type { SpilledContent } from '../../src/core/domain/content.ts';
import { BYTE_BUDGETS, cutContent, cutMarker, jsonBytes, spilledMarker } from '../../src/core/domain/byte-budgets.ts';
import { jsonTextPrefix } from '../../src/core/domain/text.ts';
import { tryAgain } from '../../src/core/domain/tool-calls.ts';
import { errorMessage, isInstance, thrownMessage } from '../../src/core/domain/errors.ts';
import { isJsonObject, isTooDeep, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { type ContextOperation, operationProblem } from '../../src/core/domain/deps.ts';
import { invalidArguments } from '../../src/core/json-schema/read-by-schema.ts';
import type { RunToolOutput } from '../../src/core/protocol.ts';
import { isUpdatingResult, type RunContext } from '../../src/define/context.ts';
import {
  type AnyTool,
  isModelRetry,
  isToolFailure,
  isToolOutput,
  type ResultBudget,
  type ToolOutput,
} from '../../src/define/tool-definition.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import { recordableJson } from '../../src/model/recordable-json.ts';
import { lastValue } from './returned-iterators.ts';

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
  /** Additions of capabilities to the recorded result. */
  record?: Partial<RunToolOutput>;
  /** Milliseconds. */
  durationMs: number;
}

/** A result without its duration. */
type ToolOutcome = Omit<Executed, 'durationMs'>;

/**
 * Executes a tool: parses the arguments with its zod schema, calls `execute`, and converts the result to JSON. Any
 * failure becomes an error result for the model. Rejects only with the reason of an aborted `context.signal`, and with
 * `UnknownOutcome`.
 */
export async function executeTool({ tool, args, context }: Execution): Promise<Executed> {
  const startedAt = performance.now();
  return { ...(await execute(tool, args, context)), durationMs: performance.now() - startedAt };
}

async function execute(tool: AnyTool, args: JsonObject, context: RunContext): Promise<ToolOutcome> {
  try {
    const parsed = await tool.parameters.safeParseAsync(args);
    if (!parsed.success) return failedOutcome(invalidArguments(tool.name, z.prettifyError(parsed.error)));
    const returned = await lastValue(tool.execute(parsed.data as never, context as never), context);
    return await toOutcome(tool, returned);
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    if (isInstance(error, UnknownOutcome)) throw error;
    return thrownOutcome(tool.name, error);
  }
}

function thrownOutcome(name: string, error: unknown): ToolOutcome {
  const message = thrownMessage(error) || `Tool '${name}' failed without a message`;
  if (isModelRetry(error)) return { ...failedOutcome(tryAgain(message)), asksRetry: true, modelError: { error } };
  return isToolFailure(error) ? { ...failedOutcome(message), modelError: { error } } : { ...failedOutcome(message), thrown: { error } };
}

/** Converts the value that a tool or its `verify` returned into a result. */
export async function toOutcome(tool: AnyTool, returned: unknown): Promise<ToolOutcome> {
  if (!isUpdatingResult(returned)) return bareOutcome(tool, returned);
  const update = updateFrom(tool.name, returned.update);
  if (!update.ok) return failedOutcome(update.problem);
  const outcome = await bareOutcome(tool, returned.result);
  return outcome.isError ? outcome : { ...outcome, update: update.operations };
}

async function bareOutcome(tool: AnyTool, returned: unknown): Promise<ToolOutcome> {
  if (isToolOutput(returned)) return blocksOutcome(tool, returned);
  const { value: bare, update } = tool.legacyUpdates ? withoutLegacyUpdate(returned) : { value: returned };
  const operations = update === undefined ? undefined : updateFrom(tool.name, update);
  if (operations?.ok === false) return failedOutcome(operations.problem);
  // A schema that refers to itself would overflow the stack.
  if (isTooDeep(bare)) return valueOutcome(tool.name, bare);
  const checked = await tool.result?.safeParseAsync(bare);
  if (checked !== undefined && !checked.success) {
    return notRecorded(tool.name, `it does not fit the result schema: ${z.prettifyError(checked.error)}`);
  }
  const outcome = valueOutcome(tool.name, checked === undefined ? bare : checked.data);
  return outcome.isError || operations === undefined ? outcome : { ...outcome, update: operations.operations };
}

function valueOutcome(name: string, value: unknown): ToolOutcome {
  if (value === undefined || value === null) return { content: [], isError: false };
  // JSON would turn these into null.
  if (typeof value === 'number' && !Number.isFinite(value)) return { content: [String(value)], isError: false };
  const recordable = recordableJson(value, 'the result');
  if ('problem' in recordable) return notRecorded(name, recordable.problem);
  return { content: recordable.value === undefined ? [] : [recordable.value], isError: false };
}

/** Converts several blocks: the texts first, joined by line breaks into one value. */
function blocksOutcome(tool: AnyTool, { content, isError }: ToolOutput): ToolOutcome {
  const recordable = recordableJson(content, 'the result');
  if ('problem' in recordable) return notRecorded(tool.name, recordable.problem);
  const blocks = (recordable.value ?? []) as JsonValue[];
  const texts = blocks.map(blockText).filter((text) => text !== undefined);
  const others = blocks.filter((block) => blockText(block) === undefined);
  return { content: [...(texts.length > 0 ? [texts.join('\n')] : []), ...others], isError };
}

/** Returns the text of a text block; undefined for any other block. */
function blockText(block: JsonValue): string | undefined {
  if (typeof block === 'string') return block;
  return isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : undefined;
}

/** The tool ran to its end, and a second call would act again: the model must know both. */
function notRecorded(name: string, problem: string): ToolOutcome {
  return failedOutcome(`Tool '${name}' has acted, but its result cannot be recorded: ${problem}. Calling it again would not help.`);
}

function failedOutcome(message: string): ToolOutcome {
  return { content: [message.toWellFormed()], isError: true };
}

/** The operations of an update that a tool returned, or the reason why it is refused. */
type ReturnedUpdate = { ok: true; operations: ContextOperation[] } | { ok: false; problem: string };

/** The field of a plain result with changes to deps, for tools with `legacyUpdates`. */
const LEGACY_KEY = '__update_context__';

/** Checks an update that a tool returned: a value that is not JSON, or is not allowed in deps, is refused with its path. */
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

/**
 * Thrown if a call may have taken effect and its answer was lost. A call that must not run twice is then neither
 * retried nor reported as failed.
 */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';
}

/** The error of an attempt that took too long. */
export class ToolTimeout extends Error {
  override readonly name = 'ToolTimeout';
  readonly afterMs: number;

  constructor(toolName: string, afterMs: number) {
    super(`Tool '${toolName}' timed out after ${afterMs}ms`);
    this.afterMs = afterMs;
  }
}

/** The time limit of one attempt. */
interface TimeLimit {
  /** Resolves with the result of the work, or rejects when the time is up, even if the work ignores the signal. */
  race: <Result>(work: Promise<Result>) => Promise<Result>;
  clear: () => void;
}

/** Starts the timer of an attempt, which calls `abort` with a `ToolTimeout` when the time is up. */
export function startTimeLimit(toolName: string, limitMs: number, abort: (reason: ToolTimeout) => void): TimeLimit {
  let giveUp: ((reason: ToolTimeout) => void) | undefined;
  const timer = setTimeout(() => {
    const reason = new ToolTimeout(toolName, limitMs);
    abort(reason);
    giveUp?.(reason);
  }, limitMs);
  return {
    race: (work) => {
      const timeUp = new Promise<never>((_, reject) => {
        giveUp = reject;
      });
      return Promise.race([work, timeUp]);
    },
    clear: () => clearTimeout(timer),
  };
}

/** Limits how many calls of a tool run at the same time on one worker. */
export class ToolSemaphore {
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  /**
   * Resolves when the call may run, with a function that releases its slot. Rejects with the reason of the signal if
   * that is aborted first.
   */
  async take(name: string, concurrency: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const running = this.#running.get(name) ?? 0;
    if (running < concurrency) this.#running.set(name, running + 1);
    else await this.#enqueue(name, signal);
    let isReleased = false;
    return () => {
      if (!isReleased) this.#release(name);
      isReleased = true;
    };
  }

  #enqueue(name: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.#waiting.get(name) ?? [];
      this.#waiting.set(name, queue);
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        queue.splice(queue.indexOf(begin), 1);
        reject(signal.reason as Error);
      };
      queue.push(begin);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Passes a released slot to the call that has waited longest. */
  #release(name: string): void {
    const next = this.#waiting.get(name)?.shift();
    if (next !== undefined) next();
    else this.#running.set(name, (this.#running.get(name) ?? 1) - 1);
  }
}

/** A tool result of any size. */
interface RawResult {
  /** The name of the tool. */
  name: string;
  content: JsonValue[];
  isError: boolean;
}

/** A tool result within its budget. */
interface LimitedResult {
  content: JsonValue[];
  isError: boolean;
  /** The location of the whole result, if `content` is its preview. */
  spilled?: SpilledContent;
}

/** The budget of a tool that this worker lacks. */
export const DEFAULT_BUDGET: ResultBudget = { maxResultBytes: BYTE_BUDGETS.toolResult, overflow: 'cut' };

/**
 * Limits a result to its tool's budget, in the tool's chosen way. `spillTo` stores the whole result. If it rejects, the result is cut and
 * says so: the tool has acted, and must not run again because of a failing store.
 */
export async function limitResultSize(
  result: RawResult,
  { maxResultBytes, overflow }: ResultBudget,
  spillTo: (content: JsonValue[]) => Promise<SpilledContent>,
): Promise<LimitedResult> {
  const { name, content, isError } = result;
  const bytes = jsonBytes(content);
  if (bytes <= maxResultBytes) return { content, isError };
  // A cut error message still says what went wrong, so the whole is not needed.
  if (isError || overflow === 'cut') return { ...cutResult(result, maxResultBytes, cutMarker), isError };
  if (overflow === 'error') return { content: [tooLargeText(name, bytes, maxResultBytes)], isError: true };
  try {
    const spilled = await spillTo(content);
    return { ...cutResult(result, maxResultBytes, spilledMarker), isError, spilled };
  } catch (error) {
    const reason = jsonTextPrefix(errorMessage(error).toWellFormed(), 200);
    const marker: typeof cutMarker = (missing, total) => `${cutMarker(missing, total)} [The whole could not be stored: ${reason}]`;
    return { ...cutResult(result, maxResultBytes, marker), isError };
  }
}

function cutResult({ content }: RawResult, maxBytes: number, marker: typeof cutMarker): { content: JsonValue[] } {
  return { content: cutContent(content, maxBytes, marker).content };
}

function tooLargeText(name: string, bytes: number, maxBytes: number): string {
  return `The result of tool '${name}' is too large: ${bytes} bytes of JSON, over ${maxBytes}. Nothing of it was kept. Ask for less, or for a part.`;
}

const ID_BYTES = 6;

/** Random bytes for 512 ids: generating them one id at a time would take longer than the rest of a quick call. */
const randomBytesPool = Buffer.alloc(ID_BYTES * 512);
let usedBytes = randomBytesPool.length;

/** Returns an id of eight characters, which is unique enough among the results of one run. */
export function shortId(): string {
  if (usedBytes === randomBytesPool.length) {
    randomFillSync(randomBytesPool);
    usedBytes = 0;
  }
  usedBytes += ID_BYTES;
  return randomBytesPool.toString('base64url', usedBytes - ID_BYTES, usedBytes);
}
