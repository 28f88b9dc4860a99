import type { WaitingNotice } from '../src/define/decision-hooks.ts';
import { LonghaulError } from '../src/domain/error.ts';
import type { JsonObject } from '../src/domain/json.ts';
import { type DataView, type NotifyWaitingInput, QUERIES } from '../src/protocol.ts';
import { attempt } from './attempt.ts';
import { callArguments } from './call-arguments.ts';
import { failingAs } from './failure.ts';
import { queryRun, runIdOf } from './run-access.ts';
import type { ActivityRuntime } from './runtime.ts';

/** Tells the worker's `notify` that something waits for a decision. What it throws is tried again, under the same id. */
export function notifyWaitingActivity(runtime: ActivityRuntime): (input: NotifyWaitingInput) => Promise<void> {
  return failingAs('notification_failed', async (input) => {
    const { notify, aborts, heartbeatMs, resourcePool } = runtime;
    if (notify === undefined) {
      throw new LonghaulError('notification_failed', 'This worker has no "notify", and the run was begun by one that has');
    }
    await attempt(aborts, { heartbeatMs }, async ({ signal }) => {
      const notice = noticeOf(input, await argumentsOf(runtime, input));
      const { deps } = await queryRun<DataView>(input, QUERIES.data, null);
      try {
        await notify(notice, { deps: Object.freeze(deps), resources: await resourcePool.use(), signal });
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      }
    });
  });
}

async function argumentsOf(runtime: ActivityRuntime, input: NotifyWaitingInput): Promise<JsonObject> {
  const { at, eventId, waiting } = input;
  if (at === undefined || eventId === undefined) return { ...waiting.proposal };
  return callArguments(runtime, input, { at, eventId });
}

function noticeOf(input: NotifyWaitingInput, args: JsonObject): WaitingNotice {
  const { notificationId, agentName, waiting } = input;
  const { kind, callId, toolName, digest, deadlineAt, onDeadline, reason } = waiting;
  return {
    id: notificationId,
    runId: runIdOf(input),
    agentName,
    kind,
    callId,
    toolName,
    arguments: args,
    digest,
    ...(deadlineAt === undefined ? {} : { deadline: new Date(deadlineAt).toISOString() }),
    ...(onDeadline === undefined ? {} : { onDeadline }),
    ...(reason === undefined ? {} : { reason }),
  };
}
