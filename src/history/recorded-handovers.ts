import { isJsonObject } from '../core/domain/json/json.ts';
import type { RecordedActivity, RecordedExecution } from './recorded-execution.ts';

/** An activity as history names it. */
export type NamedActivity = RecordedActivity<unknown, unknown> & { name: string };

/**
 * The activity before, where this one is the same, scheduled again for other workers: to the run the two are one, which ended
 * as the last one did. Undefined for any other; and after a local call, which is then as if it had not been asked for.
 */
export function activityBefore(execution: RecordedExecution, { name, input }: NamedActivity): NamedActivity | undefined {
  if (!isJsonObject(input) || !('awaitsWorker' in input)) return undefined;
  const { ended, localCalls } = execution;
  const asked = withoutWait(input);
  const index = ended.findLastIndex(
    (one) => one.failure !== undefined && (one as NamedActivity).name === name && withoutWait(one.input) === asked,
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
