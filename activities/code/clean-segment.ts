import { MAX_JSON_DEPTH } from '../../src/core/domain/json/json-depth.ts';
import { isJsonObject } from '../../src/core/domain/json/json.ts';
import { failed } from '../../src/core/execution/execution-result.ts';
import type { CodeCall, Segment } from '../../src/core/execution/executor.ts';
import { cleanJson } from '../../src/model/clean-json.ts';

/** Calls that code may wait for together: their requests and their results each travel in one payload. */
const MAX_CALLS = 500;

/**
 * Returns a segment of which all can be recorded: texts are well-formed, values are JSON of a bounded depth. A segment whose calls
 * cannot be recorded ends its cell, because nothing of it could be run again.
 */
export function cleanSegment(segment: Segment): Segment {
  if (segment.type === 'ended') return { ...segment, result: cleanResult(segment.result) };
  const { calls, output, durationMs } = segment;
  if (calls.length === 0) return endedEarly(segment, 'The code waits for calls and has made none');
  if (calls.length > MAX_CALLS) {
    return endedEarly(segment, `The code made ${calls.length} calls at once, more than ${MAX_CALLS}: make fewer of them together`);
  }
  const cleaned: CodeCall[] = [];
  for (const { tool, arguments: given } of calls) {
    const args = cleanJson(given);
    if (!isJsonObject(args)) {
      return endedEarly(segment, `The arguments of a call of "${tool}" are not JSON, or nested deeper than ${MAX_JSON_DEPTH} levels`);
    }
    cleaned.push({ tool: tool.toWellFormed(), arguments: args });
  }
  return { ...segment, calls: cleaned, output: output.toWellFormed(), durationMs };
}

/** Returns the end of a cell that must not go on, although its code waits for calls. */
export function endedEarly(segment: Segment & { type: 'calls' }, message: string): Segment & { type: 'ended' } {
  const { output, durationMs, memoryUsedBytes = 0 } = segment;
  return { type: 'ended', result: failed({ output, durationMs, memoryUsedBytes }, { kind: 'killed', message }), durationMs };
}

type Result = (Segment & { type: 'ended' })['result'];

function cleanResult(result: Result): Result {
  const output = result.output.toWellFormed();
  if (result.error !== null) {
    return { ...result, output, error: { kind: result.error.kind, message: result.error.message.toWellFormed() } };
  }
  if (!result.isFinal) return { ...result, output };
  const finalValue = cleanJson(result.finalValue);
  if (finalValue !== undefined) return { ...result, output, finalValue };
  const message = `The final answer is not JSON, or nested deeper than ${MAX_JSON_DEPTH} levels`;
  return { ...failed({ ...result, output }, { kind: 'runtime', message }), namespace: result.namespace };
}
