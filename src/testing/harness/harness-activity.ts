import type { Info } from '@temporalio/activity';
import { CompleteAsyncError } from '@temporalio/common';
import { setImmediate as begun } from 'node:timers/promises';
import type { ActivityExecuteInput, ActivityInterceptorsFactory } from '@temporalio/worker';
import { ACTIVITIES, type AskStepInput, type CallModelInput, type CallModelOutput, type RunToolInput } from '../../core/protocol.ts';
import type { Harness } from './harness.ts';

type Next = (input: ActivityExecuteInput) => Promise<unknown>;

const OWN: readonly string[] = Object.values(ACTIVITIES);

/**
 * Returns interceptors that apply the test's plan to activities: messages while they run, lost completions, killed
 * workers.
 */
export function harnessActivities(harness: Harness): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        if (info.workflowExecution?.workflowId !== harness.runId) return next(input);
        if (info.activityType === ACTIVITIES.callModel) return modelActivity(harness, input, next);
        if (info.activityType === ACTIVITIES.askStep) return askActivity(harness, input, next);
        return OWN.includes(info.activityType) ? next(input) : toolActivity(harness, info, input, next);
      },
    },
  });
}

async function modelActivity(harness: Harness, input: ActivityExecuteInput, next: Next): Promise<unknown> {
  const { through } = input.args[0] as CallModelInput;
  const output = (await callDuring(harness, harness.stepOf(through), () => next(input))) as CallModelOutput | undefined;
  if (output?.type === 'response') harness.answered(through);
  return output;
}

function askActivity(harness: Harness, input: ActivityExecuteInput, next: Next): Promise<unknown> {
  return callDuring(harness, harness.stepOfAsk(input.args[0] as AskStepInput), () => next(input));
}

/** Calls the model of a step, after the faults that are planned before it. */
async function callDuring(harness: Harness, step: number, call: () => Promise<unknown>): Promise<unknown> {
  if (harness.plan.take('kill_worker', (fault) => 'afterStep' in fault && fault.afterStep === step - 1)) return harness.worker?.kill();
  const cut = harness.plan.take('disconnect', ({ afterStep }) => afterStep === step - 1);
  if (cut !== undefined) harness.worker?.disconnect(cut.forMs);
  return harness.step.run(step, call);
}

async function toolActivity(harness: Harness, { activityType: tool }: Info, input: ActivityExecuteInput, next: Next): Promise<unknown> {
  const { step } = input.args[0] as RunToolInput;
  const isHere = (fault: { tool?: string; step?: number }): boolean => fault.tool === tool && (fault.step ?? step) === step;
  const running = next(input);
  // Its outcome is handled after all planned messages.
  running.catch(() => undefined);
  const due = harness.plan.takeOccurrences({ step, tool });
  // The tool has started before the messages are sent.
  if (due.length > 0) await begun();
  for (const occurrence of due) await harness.say(occurrence);
  // A cancelled run does not wait for the call, but would count a result that arrives together with the cancellation.
  if (due.some(({ type }) => type === 'cancel')) await harness.over;
  const isDropped = harness.plan.take('drop_completion', isHere) !== undefined;
  const isKilled = harness.plan.take('kill_worker', (fault) => 'tool' in fault && isHere(fault)) !== undefined;
  if (!isDropped && !isKilled) return running;
  await running.catch(() => undefined);
  if (isKilled) return harness.worker?.kill();
  throw new CompleteAsyncError();
}
