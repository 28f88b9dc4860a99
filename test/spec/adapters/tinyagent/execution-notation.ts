import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import type { ExecutionLimits } from '../../../../src/core/domain/code.ts';
import type { ExecutionResult } from '../../../../src/core/domain/execution.ts';
import { flag, number, object, only, text } from '../fields.ts';

/** The keys of limits in the notation of the cases. */
export const LIMIT_KEYS = ['timeout_seconds', 'max_memory_mb', 'max_output_bytes', 'max_steps'];

/** Translates limits; a case may leave out any of them. */
export function toOurLimits(limits: JsonValue | undefined): Partial<ExecutionLimits> {
  const { timeout_seconds, max_memory_mb, max_output_bytes, max_steps } = only('The limits', limits ?? {}, LIMIT_KEYS);
  return {
    ...(timeout_seconds === undefined ? {} : { timeoutSeconds: number(timeout_seconds, 0) }),
    ...(max_memory_mb === undefined ? {} : { maxMemoryMb: number(max_memory_mb, 0) }),
    ...(max_output_bytes === undefined ? {} : { maxOutputBytes: number(max_output_bytes, 0) }),
    ...(max_steps === undefined ? {} : { maxSteps: number(max_steps, 0) }),
  };
}

/** Returns limits in the notation of the cases. */
export function toTheirLimits(limits: ExecutionLimits): JsonObject {
  return {
    timeout_seconds: limits.timeoutSeconds,
    max_memory_mb: limits.maxMemoryMb,
    max_output_bytes: limits.maxOutputBytes,
    max_steps: limits.maxSteps,
  };
}

/** The keys of a result in the notation of the cases. */
export const RESULT_KEYS = [
  'output',
  'is_final',
  'duration_ms',
  'memory_used_bytes',
  'error',
  'error_kind',
  'timeout',
  'final_value',
  'namespace',
  'success',
];

/** Translates the fields of a result that a case gives. An error of a case is its text alone. */
export function toOurResultFields(fields: JsonObject): Partial<Omit<ExecutionResult, 'success'>> {
  const { output, is_final, duration_ms, memory_used_bytes, error, timeout, final_value, namespace } = fields;
  return {
    ...(output === undefined ? {} : { output: text(output) }),
    ...(is_final === undefined ? {} : { isFinal: flag(is_final) }),
    ...(duration_ms === undefined ? {} : { durationMs: number(duration_ms, 0) }),
    ...(memory_used_bytes === undefined ? {} : { memoryUsedBytes: number(memory_used_bytes, 0) }),
    ...(typeof error === 'string' ? { error: { kind: 'runtime', message: error } } : {}),
    ...(timeout === undefined ? {} : { timeout: flag(timeout) }),
    ...(final_value === undefined ? {} : { finalValue: final_value }),
    ...(namespace === undefined
      ? {}
      : { namespace: Object.fromEntries(Object.entries(object(namespace)).map(([name, value]) => [name, { type: typeof value, value }])) }),
  };
}

/** Returns a result in the notation of the cases. */
export function toTheirResult(result: ExecutionResult): JsonObject {
  return {
    output: result.output,
    is_final: result.isFinal,
    duration_ms: result.durationMs,
    memory_used_bytes: result.memoryUsedBytes,
    error: result.error?.message ?? null,
    error_kind: result.error?.kind ?? null,
    timeout: result.timeout,
    final_value: result.finalValue,
    namespace: Object.fromEntries(Object.entries(result.namespace).map(([name, { value = null }]) => [name, value])),
    success: result.success,
    emptied_by: result.emptiedBy,
  };
}
