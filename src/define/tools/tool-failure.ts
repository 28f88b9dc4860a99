import { memberOf } from '../../core/domain/errors.ts';

/**
 * Thrown by a tool that asks the model to try again in another way: the model reads the message as an error result. A tool
 * may ask `modelRetries` times in a row; after that the result says that no retries are left.
 */
export class ModelRetry extends Error {
  override readonly name = 'ModelRetry';
  readonly kind = 'longhaul.model_retry';
}

/** Thrown by a tool whose failure is final: it is not tried again, and the model reads the message as an error result. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  readonly kind = 'longhaul.tool_failure';
}

/** True for a `ModelRetry` of any copy of this package. */
export function isModelRetry(error: unknown): error is ModelRetry {
  return kindOf(error) === 'longhaul.model_retry';
}

/** True for a `ToolFailure` of any copy of this package. */
export function isToolFailure(error: unknown): error is ToolFailure {
  return kindOf(error) === 'longhaul.tool_failure';
}

function kindOf(error: unknown): unknown {
  return memberOf(error, 'kind');
}
