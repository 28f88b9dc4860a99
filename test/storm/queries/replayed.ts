import proto from '@temporalio/proto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ExecutionHistory, historyJson } from '../../../src/history/history-events.ts';
import { ACTIVITIES, type CallModelInput } from '../../../src/core/protocol.ts';
import type { Replayer } from '../../../worker/index.ts';
import type { ReplayedExecution } from './queries-checks.ts';

const { WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND } =
  proto.temporal.api.enums.v1.WorkflowTaskFailedCause;

/**
 * Causes that are not a problem: new events came while the run was about to end its execution, so that the server had the task
 * repeated; or the storm has ended the run.
 */
const NO_FAULT: readonly unknown[] = [WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND];

/** The activities whose input names the last event: a burst begins with a model call. */
const MODEL_CALLS: readonly unknown[] = [ACTIVITIES.callModel, ACTIVITIES.runBurst];

/**
 * Replays the executions of a run, and collects failed tasks and accepted Updates from their histories. Keeps a history that
 * does not replay, and reports its path.
 */
export async function replayed(
  replayer: Replayer,
  runId: string,
  executions: readonly ExecutionHistory[],
  say: (line: string) => void = () => undefined,
): Promise<ReplayedExecution[]> {
  const all: ReplayedExecution[] = [];
  for (const history of executions) {
    const verdict = await replayer.replay(runId, history.events);
    if (verdict.type !== 'ok') say(await keptHistory(runId, history));
    all.push({ ...readEvents(history), ...(verdict.type === 'ok' ? {} : { divergence: verdict.message }) });
  }
  return all;
}

/** Keeps the history of a run, to find the cause of a problem. Returns the line that says where it is. */
export async function keptHistory(runId: string, history: ExecutionHistory): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'longhaul-storm-')), `${runId}.json`);
  await writeFile(path, historyJson(history));
  return `the history of "${runId}" is kept in ${path}`;
}

function readEvents({ events }: ExecutionHistory): Omit<ReplayedExecution, 'divergence'> {
  const failedTasks = events.flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed && !NO_FAULT.includes(failed.cause) ? [failed.failure?.message ?? String(failed.cause)] : [],
  );
  const accepted = events.flatMap(({ workflowExecutionUpdateAcceptedEventAttributes: update }) => {
    const { name, args } = update?.acceptedRequest?.input ?? {};
    const data = args?.payloads?.[0]?.data;
    return name && data ? [{ name, input: JSON.parse(Buffer.from(data).toString('utf8')) as { content?: string; callId?: string } }] : [];
  });
  const of = (kind: string): (typeof accepted)[number]['input'][] =>
    accepted.filter(({ name }) => name === kind || name.endsWith(`.${kind}`)).map(({ input }) => input);
  const modelCalls = events.flatMap(({ activityTaskScheduledEventAttributes: call }) => {
    const data = MODEL_CALLS.includes(call?.activityType?.name) ? call?.input?.payloads?.[0]?.data : undefined;
    return data ? [JSON.parse(Buffer.from(data).toString('utf8')) as CallModelInput] : [];
  });
  return {
    failedTasks,
    lastEvents: modelCalls.map(({ through, lastEventId }) => ({ offset: through - 1, id: lastEventId })),
    messages: of('send').map(({ content }) => content ?? ''),
    approvals: of('approve').map(({ callId }) => callId ?? ''),
  };
}
