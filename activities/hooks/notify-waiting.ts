import { activityInfo } from '@temporalio/activity';
import type { WaitingNotice } from '../../src/define/decision-hooks.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import type { RunSubject } from '../../src/core/domain/run/run-subject.ts';
import { type ApprovalsPage, type DataView, type NotifyWaitingInput, QUERIES, type StatusView } from '../../src/core/protocol.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { callArguments } from '../tool-calls/call-arguments.ts';
import { failingAs } from '../failures/failure.ts';
import { queryRun, runIdOf } from '../run-queries/access.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { withTimeout } from '../attempts/with-timeout.ts';
import { isoTime } from '../../src/core/domain/record/time.ts';

/**
 * The longest time of one attempt, in milliseconds: less than the minute that the server allows, so that a hook that
 * hangs does not block a slot of the worker.
 */
const NOTIFY_MS = 50_000;

/**
 * Creates the activity that tells the worker's `notify` that a call waits for a decision. A failed attempt is retried
 * with the same id.
 */
export function notifyWaitingActivity(runtime: ActivityRuntime): (input: NotifyWaitingInput) => Promise<void> {
  return failingAs('notification_failed', async (input) => {
    const { notify, aborts, heartbeatMs, resourcePool } = runtime;
    if (notify === undefined) {
      throw new LonghaulError('notification_failed', 'This worker has no "notify", but the run was started by a worker that has one');
    }
    await runAttempt(aborts, { heartbeatMs }, async ({ signal }) => {
      if (activityInfo().attempt > 1 && !(await stillWaits(input))) return;
      const args = await argumentsOf(runtime, input);
      // By query, because what the run knows already is no part of its history again.
      const { about } = await queryRun<StatusView>(input, QUERIES.status, null);
      const notice = noticeOf(input, args, about);
      const { deps } = await queryRun<DataView>(input, QUERIES.data, null);
      try {
        const resources = await resourcePool.use();
        const call = (attemptSignal: AbortSignal): void | Promise<void> =>
          notify(notice, { deps: Object.freeze(deps), resources, signal: attemptSignal });
        await withTimeout(call, { ms: NOTIFY_MS, stop: signal });
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      }
    });
  });
}

/**
 * Returns true if the call still waits for a decision. A retry may come much later, and a call that has been decided by
 * then needs no notice.
 */
async function stillWaits(input: NotifyWaitingInput): Promise<boolean> {
  for (let from = 0; ;) {
    const { pending, total } = await queryRun<ApprovalsPage>(input, QUERIES.approvals, { from });
    if (pending.some(({ key }) => key === input.waiting.key)) return true;
    from += pending.length;
    if (pending.length === 0 || from >= total) return false;
  }
}

async function argumentsOf(runtime: ActivityRuntime, input: NotifyWaitingInput): Promise<JsonObject> {
  const { at, eventId, rewritten, waiting } = input;
  if (at === undefined || eventId === undefined) return { ...waiting.proposal };
  return callArguments(runtime, input, { at, eventId, callId: waiting.callId, ...(rewritten ? { rewritten } : {}) });
}

function noticeOf(input: NotifyWaitingInput, args: JsonObject, about: RunSubject): WaitingNotice {
  const { notificationId, agentName, waiting } = input;
  const { kind, callId, toolName, digest, deadlineAt, onDeadline, reason } = waiting;
  return {
    id: notificationId,
    runId: runIdOf(input),
    agentName,
    about,
    kind,
    callId,
    toolName,
    arguments: args,
    digest,
    ...(deadlineAt === undefined ? {} : { deadline: isoTime(deadlineAt) }),
    ...(onDeadline === undefined ? {} : { onDeadline }),
    ...(reason === undefined ? {} : { reason }),
  };
}
