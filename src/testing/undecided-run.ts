import type { ApprovalView } from '../core/domain/approvals.ts';
import type { TestedRecord } from './tested-run.ts';

const MARKER = 'longhaul.undecided_run';

/** The error of a test whose run waits for a decision that `decide` does not make, without a deadline. */
export class UndecidedRun extends Error {
  override readonly name = 'UndecidedRun';
  readonly marker = MARKER;
  /** Everything that waits, in order. Empty if the run waits for a message. */
  readonly waiting: readonly ApprovalView[];
  /** The record of the run up to then. */
  readonly record: TestedRecord;

  constructor(waiting: readonly ApprovalView[], record: TestedRecord) {
    super(waitsFor(waiting));
    this.waiting = waiting;
    this.record = record;
  }
}

/**
 * Returns true for the error of a test whose run waits for a decision that the test does not make. A test may expect it.
 *
 * @example
 * const error = await testAgent(desk, { input, model }).catch((thrown: unknown) => thrown);
 * if (isUndecidedRun(error)) assert.equal(error.waiting[0]?.toolName, 'refund');
 */
export function isUndecidedRun(error: unknown): error is UndecidedRun {
  return error instanceof Error && 'marker' in error && error.marker === MARKER;
}

function waitsFor([first]: readonly ApprovalView[]): string {
  const what = first === undefined ? 'a message or a decision' : `a decision on "${first.toolName}" (call "${first.callId}")`;
  return `The run waits for ${what}, the test does not decide it, and there is no deadline: add "decide" to the test`;
}
