import { UsageError } from '../../src/core/domain/errors.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import type { ExecutionLimits } from '../../src/core/domain/code.ts';
import {
  type CodeCallResult,
  type CodeTool,
  type ExecutionFigures,
  type ExecutionResult,
  failed,
  type NamespaceEntry,
  type Scratchpad,
  succeeded,
} from '../../src/core/domain/execution.ts';
import { type EndFrame, MAX_CODE_LENGTH } from './frames.ts';

/** Characters of output that a run keeps at least: the blanks around it do not count towards its limit. */
const KEPT_OUTPUT_LENGTH = 64_000;

/** The characters of output that a run keeps until it is cut to its limit. */
export function keptOutputLength({ maxOutputBytes }: ExecutionLimits): number {
  return Math.max(maxOutputBytes, KEPT_OUTPUT_LENGTH);
}

/** The result of a run, by the last frame of its thread. */
export function resultOf(
  ending: EndFrame,
  figures: Omit<ExecutionFigures, 'memoryUsedBytes'>,
  { maxOutputBytes }: ExecutionLimits,
): ExecutionResult {
  const run = { ...figures, memoryUsedBytes: ending.memoryUsedBytes };
  if (ending.type === 'failed') return failed(run, { kind: ending.kind, message: ending.message }, maxOutputBytes);
  const finalAnswer = ending.answer === undefined ? undefined : { value: JSON.parse(ending.answer) as JsonValue };
  return succeeded({ ...run, finalAnswer, namespace: namespaceOf(ending) }, maxOutputBytes);
}

export function codeTooLong(code: string, scratchpad: Scratchpad | undefined): ExecutionResult {
  const message = `The code has ${code.length} characters, more than ${MAX_CODE_LENGTH}`;
  return failed({ output: '', durationMs: 0, memoryUsedBytes: 0, scratchpad }, { kind: 'syntax', message });
}

/** The scratchpad of an executor that has run nothing. */
export function emptyScratchpad(): Scratchpad {
  return { values: {}, observations: [], failed: [] };
}

/** Reads the JSON of a scratchpad; undefined for anything else. */
export function readScratchpad(json: string | undefined): Scratchpad | undefined {
  const read: unknown = json === undefined ? undefined : JSON.parse(json);
  if (!isJsonObject(read)) return undefined;
  const { values, observations, failed: failures } = read;
  if (values === undefined || !isJsonObject(values) || !isTexts(observations) || !isTexts(failures)) return undefined;
  return { values, observations, failed: failures };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function namespaceOf({ namespace }: Extract<EndFrame, { type: 'done' }>): Record<string, NamespaceEntry> {
  return Object.fromEntries(
    Object.entries(namespace).map(([name, { type, json }]) => [
      name,
      json === undefined ? { type } : { type, value: JSON.parse(json) as JsonValue },
    ]),
  );
}

/** Characters of JSON that the results of one segment may have together. */
const MAX_RESULTS_LENGTH = 4_000_000;

/** The JSON of the results of calls, for the thread. A result that has no room becomes an error of its call. */
export function resultsText(results: readonly CodeCallResult[], count: number): string {
  if (results.length !== count) {
    throw new UsageError(
      `The code waits for ${count} calls, and there are ${results.length} results: give one for each call, in their order`,
    );
  }
  let left = MAX_RESULTS_LENGTH;
  const texts = results.map((result) => {
    const text = 'error' in result ? JSON.stringify({ error: result.error }) : JSON.stringify({ value: result.value ?? null });
    if (text.length > left) return JSON.stringify({ error: tooLong(text.length) });
    left -= text.length;
    return text;
  });
  return `[${texts.join()}]`;
}

function tooLong(length: number): string {
  return `The result has ${length} characters of JSON, and code can take ${MAX_RESULTS_LENGTH} for all calls that waited together: ask for less`;
}

/** The functions that code has besides those of the language. */
export interface Provided {
  /** The tools that code may call by their names. */
  tools: readonly CodeTool[];
  /** True: `store`, `recall`, `observe`, `memory` and the signals `uncertain`, `explore` and `commit`. */
  scratchpad: boolean;
}
