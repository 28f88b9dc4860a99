import type { ApprovalView } from '../core/domain/approvals/approval.ts';
import type { TestedRecord } from './tested-run.ts';

const MARKER = 'longhaul.undecided_run';

/** The run of a test waits for a decision that `decide` does not give, and there is no deadline. */
export class UndecidedRun extends Error {
  override readonly name = 'UndecidedRun';
  readonly marker = MARKER;
  /** Everything that waits, in its order. Empty: the run waits for a message. */
  readonly waiting: readonly ApprovalView[];
  /** The record of the run until then. */
  readonly record: TestedRecord;

  constructor(waiting: readonly ApprovalView[], record: TestedRecord) {
    super(waitsFor(waiting));
    this.waiting = waiting;
    this.record = record;
  }
}

/**
 * True for the error with which a test of a run rejects that waits for a decision: a test may be about just that.
 *
 * @example
 * const error = await testAgent(desk, { input, model }).catch((thrown: unknown) => thrown);
 * if (isUndecidedRun(error)) assert.equal(error.waiting[0]?.toolName, 'refund');
 */
export function isUndecidedRun(error: unknown): error is UndecidedRun {
  return error instanceof Error && 'marker' in error && error.marker === MARKER;
}

function waitsFor([first]: readonly ApprovalView[]): string {
  const what = first === undefined ? 'something to be said to it' : `a decision on "${first.toolName}" (call "${first.callId}")`;
  return `The run waits for ${what}, nobody decides, and there is no deadline: write "decide"`;
}
