import { ActivityCancellationType, type ActivityOptions, ApplicationFailure } from '@temporalio/common';
import { codeCallId } from '../code/callable-tools.ts';
import { MISSED_HEARTBEATS, toolOwner } from '../domain/agent.ts';
import { defined } from '../domain/json.ts';
import { CALL_EVENTS, hooksMs, inlineHooks } from '../domain/hooks.ts';
import { oneLine, summaryText } from '../domain/text.ts';
import type { AllPorts } from '../capabilities.ts';
import { journalOf, type SegmentCall, type SegmentOutcome } from '../capabilities/code/code-cells.ts';
import type { RunSegmentInput, RunSegmentOutput } from '../protocol.ts';
import {
  activityCause,
  activityProblem,
  dataOf,
  fits,
  type PerformActivity,
  type RequestingRun,
  type RequestOf,
  runReference,
  SCHEDULE_TO_CLOSE,
  wholeDataOf,
} from './activity-request.ts';

/** The port of code cells. */
export function codePorts(run: RequestingRun, perform: PerformActivity): Pick<AllPorts, 'runSegment'> {
  return { runSegment: (call) => runSegment(run, call, perform) };
}

/** Milliseconds in addition to a cell's time limit: for starting an executor and running earlier cells again. */
const BESIDE_MS = 120_000;

/** The maximum attempts of a segment. Its code has no effects, so it may run again. */
const ATTEMPTS = 5;

/** The activity's answer, or the fact that a local activity needs the whole journal. */
type Answer = SegmentOutcome | { type: 'cold' };

/** Runs a segment. A local activity whose worker lacks the namespace gets the journal in its input, which is not in the history. */
export async function runSegment(run: RequestingRun, call: SegmentCall, perform: PerformActivity): Promise<SegmentOutcome> {
  const outcome = await perform(segmentRequest(run, call, false));
  if (outcome.type !== 'cold') return outcome;
  const again = await perform(segmentRequest(run, call, true));
  return again.type === 'cold' ? { type: 'failed', message: 'the worker asked twice for the earlier cells' } : again;
}

/** Returns a segment as an activity. `whole`: including the journal and the snapshot. */
function segmentRequest(run: RequestingRun, call: SegmentCall, whole: boolean): RequestOf<'runCode', Answer> {
  const remote: RequestOf<'runCode', Answer> = {
    name: 'runCode',
    key: ({ at, segment }) => (at === undefined ? undefined : [...at, segment].join('/')),
    tier: 'remote',
    options: {
      ...segmentOptions(run, call),
      scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
      heartbeatTimeout: run.snapshot.timing.heartbeatMs * MISSED_HEARTBEATS,
    },
    input: remoteInput(run, call),
    returned: (output) => segmentOutcome(output, call),
    failed: segmentFailure,
  };
  if (run.snapshot.code?.tier !== 'local' || call.remote) return remote;
  return { ...remote, tier: 'local', options: segmentOptions(run, call), input: localInput(run, call, whole), remotely: () => remote };
}

/**
 * Returns the outcome of a segment that ran. The event id of its calls is always the same: idempotency keys contain it, and a local segment
 * runs again, along with later local calls, if its workflow task is lost.
 */
function segmentOutcome(
  { at: _, segment: __, ...output }: RunSegmentOutput,
  { call: { toolCallId }, eventId, index, segment, calls: before }: Pick<SegmentCall, 'call' | 'eventId' | 'index' | 'segment' | 'calls'>,
): Answer {
  if (output.type !== 'calls') return output;
  const calls = output.calls.map((made, place) => ({
    type: 'tool_call' as const,
    toolCallId: codeCallId(toolCallId, before + place + 1),
    name: made.name,
    arguments: made.arguments,
  }));
  return { ...output, id: `${eventId}.${index}.${segment}`, calls };
}

/** Returns the outcome of a segment whose activity failed. */
function segmentFailure(error: unknown): SegmentOutcome {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return problem;
  const cause = activityCause(error);
  const { message } = problem;
  if (
    cause instanceof ApplicationFailure &&
    (cause.type === 'NotFoundError' || (problem.type === 'failed' && problem.code === 'unknown_agent'))
  ) {
    return { type: 'failed', message: 'no worker has its executor at the moment', noWorker: { code: 'unknown_agent', message } };
  }
  if (problem.type === 'failed' && problem.code === 'unknown_hook')
    return { type: 'failed', message: 'no worker has a hook of the run at the moment', noWorker: { code: 'unknown_hook', message } };
  return { type: 'failed', message };
}

function segmentOptions({ snapshot }: RequestingRun, { code, segment }: SegmentCall): ActivityOptions {
  const { timeoutSeconds = 0 } = snapshot.code?.executor.limits ?? {};
  // Code without a time limit may run as long as an activity may.
  const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1_000 + BESIDE_MS + hooksMs(inlineHooks(snapshot, ...CALL_EVENTS)) : 86_400_000;
  return {
    summary: summaryText(segment === 0 ? oneLine(code.trimStart().slice(0, 400), 120) : `continues after call ${segment}`),
    startToCloseTimeout: timeoutMs,
    scheduleToCloseTimeout: timeoutMs * ATTEMPTS,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: ATTEMPTS, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  };
}

function remoteInput(run: RequestingRun, call: SegmentCall): RunSegmentInput {
  const { code, results } = call;
  const given = results === undefined ? { code } : { results };
  return { ...positionInput(run, call), ...(fits(given) ? given : {}), ...dataOf(run) };
}

function localInput(run: RequestingRun, call: SegmentCall, whole: boolean): RunSegmentInput {
  const { code, results } = call;
  const journal = run.state && journalOf(run.state);
  return {
    ...positionInput(run, call),
    code,
    ...defined({ results }),
    ...(whole && journal !== undefined ? { whole: { snapshot: run.snapshot, journal } } : {}),
    ...wholeDataOf(run),
  };
}

function positionInput(run: RequestingRun, call: SegmentCall): RunSegmentInput {
  const {
    call: { toolCallId },
    offset,
    index,
    eventId,
    step,
    cell,
    segment,
    after,
    calls,
    spentMs,
    moment,
    checkpoint,
  } = call;
  return {
    ...runReference(run),
    agentName: toolOwner(run.snapshot).agentName,
    agent: run.snapshot.digest,
    callId: toolCallId,
    at: [offset, index],
    eventId,
    step,
    cell,
    segment,
    ...defined({ after }),
    calls,
    spentMs,
    moment,
    ...defined({ checkpoint }),
  };
}
