import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import { CancellationScope, proxyActivities, uuid4 } from '@temporalio/workflow';
import { modelFailure, modelOutcome, toolFailure, toolOutcome } from '../src/activity-outcome.ts';
import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import type { JsonObject } from '../src/domain/json.ts';
import { jsonBytes } from '../src/domain/payload-limit.ts';
import type { ModelCall, ModelCallOutcome, RunPorts, ToolInvocation, ToolOutcome } from '../src/loop/ports.ts';
import type { RunState } from '../src/loop/run-state.ts';
import {
  ACTIVITIES,
  type CallModelInput,
  type CallModelOutput,
  INLINE_BYTES,
  type RunToolInput,
  type RunToolOutput,
} from '../src/protocol.ts';
import { modelSummary, toolSummary } from './summaries.ts';

/** Attempts and the time of one attempt bound the work; this bounds the wait for a worker, and outlasts a long outage. */
const SCHEDULE_TO_CLOSE = '7 days';

/** An activity is taken for dead after this many missed heartbeats. */
const MISSED_HEARTBEATS = 3;

/** What the ports of a run need to know about it. */
export interface PortedRun {
  snapshot: AgentSnapshot;
  deps: JsonObject;
  /** The state, once the loop has it. */
  state(): RunState | undefined;
  recorded(state: RunState): void;
}

/** The loop's ports on Temporal: every effect is an activity, time and ids come from the workflow. */
export function temporalPorts(run: PortedRun): RunPorts {
  return {
    now: () => Date.now(),
    uuid: () => uuid4(),
    callModel: (call) => callModel(run, call),
    runTool: (invocation) => runTool(run, invocation),
    cancelRequested: () => CancellationScope.current().consideredCancelled,
    recorded: (state) => run.recorded(state),
  };
}

async function callModel({ snapshot }: PortedRun, call: ModelCall): Promise<ModelCallOutcome> {
  const { timing } = snapshot;
  const options: ActivityOptions = {
    summary: modelSummary(call, snapshot.model),
    startToCloseTimeout: timing.modelTimeoutMs,
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: timing.heartbeatMs * MISSED_HEARTBEATS,
    // The activity answers a cancellation with what had arrived so far, so it is worth the wait.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: timing.modelMaxAttempts, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  };
  const input: CallModelInput = {
    agent: snapshot.digest,
    through: call.through,
    lastEventId: call.lastEventId,
    ...(call.resultIds === undefined ? {} : { results: call.resultIds }),
    ...(call.final ? { final: true } : {}),
  };
  try {
    return modelOutcome(await activity<CallModelInput, CallModelOutput>(ACTIVITIES.callModel, options)(input));
  } catch (error) {
    return modelFailure(snapshot.model, error);
  }
}

async function runTool(run: PortedRun, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { tool, call } = invocation;
  const options: ActivityOptions = {
    summary: toolSummary(call.name, call.arguments),
    startToCloseTimeout: tool.timeoutMs,
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: run.snapshot.timing.heartbeatMs * MISSED_HEARTBEATS,
    // A tool is told, and not waited for: one that ignores its signal must not hold up the end of the run.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: tool.maxAttempts, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  };
  try {
    return toolOutcome(await activity<RunToolInput, RunToolOutput>(call.name, options)(toolInput(run, invocation)));
  } catch (error) {
    return toolFailure(tool, error);
  }
}

/** Small arguments and data travel in the input, for who reads the Temporal UI; large ones are there already and go by reference. */
function toolInput(run: PortedRun, { call, step, offset, index }: ToolInvocation): RunToolInput {
  const context = run.state()?.context;
  const { deps } = run;
  const state = context?.state ?? {};
  const hasData = Object.keys(deps).length > 0 || Object.keys(state).length > 0;
  const data = !hasData ? {} : fits({ deps, state }) ? { deps, state } : { dataByReference: true as const };
  return {
    agentName: run.snapshot.name,
    callId: call.toolCallId,
    step,
    at: [offset, index],
    eventId: context?.events[offset]?.id ?? '',
    ...(fits(call.arguments) ? { arguments: call.arguments } : {}),
    ...data,
  };
}

/** Small enough to be in an activity's input a second time. */
export function fits(value: object): boolean {
  return jsonBytes(value) <= INLINE_BYTES;
}

/** An activity by name. Names of tools are data, so the proxy is not typed by them. */
export function activity<Input, Output>(name: string, options: ActivityOptions): (input: Input) => Promise<Output> {
  const activities = proxyActivities<Record<string, (input: Input) => Promise<Output>>>(options);
  const one = activities[name];
  if (one === undefined) throw new TypeError(`No activity "${name}"`);
  return one;
}
