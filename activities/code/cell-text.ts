import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import type { ExecutionError } from '../../src/core/execution/execution-result.ts';
import { truncateOutput } from '../../src/core/execution/output.ts';

/** The end of a cell, without secrets. */
export interface CellEnd {
  output: string;
  final?: { value: JsonValue } | undefined;
  error: ExecutionError | null;
}

/** The result of a cell that printed nothing, gave no answer and did not fail. */
const NOTHING = '(no output)';

/**
 * Returns the text that the model reads about a cell: the printed text as it is, then `Final answer: <JSON>`, then
 * `Error (<kind>): <message>`, each on a separate line and only if there is one. Executors cut the output of a run. That of a cell
 * which was ended between two runs is cut here, to `maxOutputBytes`.
 */
export function cellText({ output, final, error }: CellEnd, maxOutputBytes: number): string {
  const parts = [
    ...(output === '' ? [] : [error === null ? output : truncateOutput(output, maxOutputBytes).text]),
    ...(final === undefined ? [] : [`Final answer: ${JSON.stringify(final.value)}`]),
    ...(error === null ? [] : [`Error (${error.kind}): ${cutText(error.message, BYTE_BUDGETS.errorMessage)}`]),
  ];
  return parts.length === 0 ? NOTHING : parts.join('\n');
}
