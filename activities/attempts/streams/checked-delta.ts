import type { ModelDelta } from '../../../src/core/domain/stream/delta.ts';

/** The lengths up to which ids of calls and names of tools are recorded. */
const MAX_ID_LENGTH = 64;
const MAX_NAME_LENGTH = 128;

/**
 * Returns a piece of an answer as it is passed on; undefined for anything else. Nothing that a model client reports is trusted, and
 * this never throws. The id or the name of a call may be empty.
 */
export function checkedDelta(given: unknown): ModelDelta | undefined {
  try {
    if (typeof given !== 'object' || given === null) return undefined;
    const { type, text, callId, toolName } = given as Partial<Record<string, unknown>>;
    if (typeof text !== 'string') return undefined;
    if (type === 'text' || type === 'reasoning') return text === '' ? undefined : { type, text };
    if (type !== 'tool_input') return undefined;
    return { type, callId: name(callId, MAX_ID_LENGTH), toolName: name(toolName, MAX_NAME_LENGTH), text };
  } catch {
    // A getter of the client has thrown.
    return undefined;
  }
}

function name(value: unknown, length: number): string {
  return typeof value === 'string' ? value.slice(0, length).toWellFormed() : '';
}
