import type { OpenTestbed } from '../processes/shared-resources.ts';
import { checkedRun } from './checked-run.ts';
import type { SharedResources } from '../processes/crash-testbed.ts';
import type { Outcome } from './outcome.ts';
import { END, IDLE, queryPoint } from '../points/points.ts';
import type { RecordOfRun, Subject } from '../subject.ts';

/** The undisturbed run, the reference for all other runs. */
export interface Undisturbed<Plain> {
  record: Plain;
  /** The points that it reached, in order. */
  points: string[];
}

/** Does a run without a disturbance. Its outcome counts like any other; `undisturbed` is undefined if it had a problem. */
export async function runUndisturbed<Recorded extends RecordOfRun, Plain>(
  open: OpenTestbed,
  resources: SharedResources,
  subject: Subject<Recorded, Plain>,
): Promise<{ outcome: Outcome; undisturbed: Undisturbed<Plain> | undefined }> {
  let undisturbed: Undisturbed<Plain> | undefined;
  const testbed = await open();
  try {
    const outcome = await checkedRun(testbed, subject, {
      name: 'undisturbed',
      folder: resources.folder,
      disturbance: { type: 'none' },
      check: (record) => {
        const points = pointsOf(resources.ledger.points(record.runId));
        undisturbed = { record: subject.plain(record), points };
        return subject.undisturbedProblems(record, points);
      },
    });
    return { outcome, undisturbed: outcome.problems.length === 0 ? undisturbed : undefined };
  } finally {
    await testbed.close();
  }
}

/** Points after the end do not count; and the run is idle when its status is queried. */
function pointsOf(reached: readonly string[]): string[] {
  const untilEnd = reached.slice(0, reached.indexOf(END) + 1);
  return untilEnd.toSpliced(untilEnd.indexOf(queryPoint('status')), 0, IDLE);
}
