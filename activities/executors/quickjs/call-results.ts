import { UsageError } from '../../../src/core/domain/errors/error.ts';
import type { CodeCallResult } from '../../../src/core/execution/executor.ts';

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
