import { isJsonObject } from '../core/domain/json.ts';
import type { RecordedActivity, RecordedExecution } from './recorded-execution.ts';

/** An activity with the name that history gives it. */
export type NamedActivity = RecordedActivity<unknown, unknown> & { name: string };

/**
 * Returns the earlier activity that this one schedules again for other workers: to the run the two are one, which
 * ends as the last one does. Returns undefined for any other activity, and also after a local call, whose record is
 * removed as if it had never been made.
 */
export function rescheduledActivity(execution: RecordedExecution, { name, input }: NamedActivity): NamedActivity | undefined {
  if (!isJsonObject(input) || !('awaitsWorker' in input)) return undefined;
  const { ended, localCalls } = execution;
  const request = withoutWait(input);
  const index = ended.findLastIndex(
    (one) => one.failure !== undefined && (one as NamedActivity).name === name && withoutWait(one.input) === request,
  );
  const [before] = index < 0 ? [] : ended.splice(index, 1);
  if (before !== undefined) {
    delete before.failure;
    delete before.task;
    return before as NamedActivity;
  }
  const local = localCalls.findIndex(({ input: call, failure }) => call.name === name && failure !== undefined);
  if (local >= 0) localCalls.splice(local, 1);
  return undefined;
}

function withoutWait(input: unknown): string {
  return JSON.stringify(isJsonObject(input) ? { ...input, awaitsWorker: null } : input);
}
