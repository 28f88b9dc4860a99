import type { JsonValue } from '../../../core/domain/json.ts';
import { checkOutput, type OutputCheck } from '../../check-output.ts';

/**
 * Returns the final answer of a cell as the output of its run, or the reason why it cannot be: it does not fit the output schema of the
 * agent. Without a schema any value is the output.
 */
export function finalValue(value: JsonValue, check: OutputCheck | undefined): { value: JsonValue } | { problem: string } {
  if (check === undefined) return { value };
  const verdict = checkOutput(value, check);
  if (verdict.type === 'problem') return { problem: `The final answer does not fit the required JSON Schema: ${verdict.problem}` };
  return { value: verdict.type === 'parsed' ? verdict.value : value };
}
