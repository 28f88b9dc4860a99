import { BYTE_BUDGETS } from '../../core/domain/byte-budgets.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { wholeNumber } from './option-checks.ts';

/**
 * The form of a result that is too large for the conversation. `cut`: its beginning, with a marker that gives the number of
 * missing bytes. `spill`: the same, and the whole result goes to the worker's payload store. `error`: an error result with
 * its size, for tools of which half a result is worse than none.
 */
export type Overflow = (typeof OVERFLOWS)[number];

const OVERFLOWS = ['cut', 'spill', 'error'] as const;

/** The smallest budget: below it there is no room for the marker or an error message. */
const LEAST_BYTES = 1_000;

/** The options of a tool that concern the size of its results. */
export interface ResultBudget {
  maxResultBytes: number;
  overflow: Overflow;
}

/** Returns the budget of a tool's results, defaults filled in. Throws a UsageError that names an option out of range. */
export function resultBudget(owner: string, options: Partial<ResultBudget>): ResultBudget {
  const maxResultBytes = wholeNumber(`${owner}: "maxResultBytes"`, options.maxResultBytes ?? BYTE_BUDGETS.toolResult, LEAST_BYTES);
  if (maxResultBytes > BYTE_BUDGETS.maxToolResult) {
    throw new UsageError(
      `${owner}: "maxResultBytes" is ${maxResultBytes}: write at most ${BYTE_BUDGETS.maxToolResult}, or keep large results with "overflow": "spill"`,
    );
  }
  const overflow = options.overflow ?? 'cut';
  if (!OVERFLOWS.includes(overflow)) {
    throw new UsageError(`${owner}: "overflow" is ${JSON.stringify(overflow)}: write "cut", "spill" or "error"`);
  }
  return { maxResultBytes, overflow };
}
