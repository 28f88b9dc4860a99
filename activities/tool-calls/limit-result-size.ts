import type { ResultBudget } from '../../src/define/options/result-budget.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import type { SpilledContent } from '../../src/core/domain/content/content.ts';
import { cutContent, cutMarker, spilledMarker } from '../../src/core/domain/content/cut-content.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { jsonTextPrefix } from '../../src/core/domain/content/text.ts';

/** A tool result of any size. */
export interface RawResult {
  /** The name of the tool. */
  name: string;
  content: JsonValue[];
  isError: boolean;
}

/** A tool result within its budget. */
export interface LimitedResult {
  content: JsonValue[];
  isError: boolean;
  /** The location of the whole, if `content` is its preview. */
  spilled?: SpilledContent;
}

/** The budget of a tool that this worker does not have. */
export const DEFAULT_BUDGET: ResultBudget = { maxResultBytes: BYTE_BUDGETS.toolResult, overflow: 'cut' };

/**
 * Brings a result within the budget of its tool, in the way that the tool has chosen. `spillTo` stores the whole
 * result. If it rejects, the result is cut and says so: the tool has acted, and must not run again because a store
 * fails.
 */
export async function limitResultSize(
  result: RawResult,
  { maxResultBytes, overflow }: ResultBudget,
  spillTo: (content: JsonValue[]) => Promise<SpilledContent>,
): Promise<LimitedResult> {
  const { name, content, isError } = result;
  const bytes = jsonBytes(content);
  if (bytes <= maxResultBytes) return { content, isError };
  // Half an error message says what went wrong, and the whole is of no further use.
  if (isError || overflow === 'cut') return { ...cut(result, maxResultBytes, cutMarker), isError };
  if (overflow === 'error') return { content: [tooLarge(name, bytes, maxResultBytes)], isError: true };
  try {
    const spilled = await spillTo(content);
    return { ...cut(result, maxResultBytes, spilledMarker), isError, spilled };
  } catch (error) {
    const reason = jsonTextPrefix(errorMessage(error).toWellFormed(), 200);
    const marker: typeof cutMarker = (missing, total) => `${cutMarker(missing, total)} [The whole could not be stored: ${reason}]`;
    return { ...cut(result, maxResultBytes, marker), isError };
  }
}

function cut({ content }: RawResult, maxBytes: number, marker: typeof cutMarker): { content: JsonValue[] } {
  return { content: cutContent(content, maxBytes, marker).content };
}

function tooLarge(name: string, bytes: number, maxBytes: number): string {
  return `The result of tool '${name}' is too large: ${bytes} bytes of JSON, over ${maxBytes}. Nothing of it was kept. Ask for less, or for a part.`;
}
