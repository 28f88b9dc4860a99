import type { Info } from '@temporalio/activity';
import { CompleteAsyncError } from '@temporalio/common';
import { setImmediate as begun } from 'node:timers/promises';
import type { ActivityExecuteInput, ActivityInterceptorsFactory } from '@temporalio/worker';
import { ACTIVITIES, type CallModelInput, type CallModelOutput, type RunToolInput } from '../../core/protocol.ts';
import type { Harness } from './harness.ts';

type Next = (input: ActivityExecuteInput) => Promise<unknown>;

const OWN: readonly string[] = Object.values(ACTIVITIES);

/** Makes of an activity what the test has planned for it: people speak while it runs, its completion is lost, its worker dies. */
export function harnessActivities(stage: Harness): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        if (info.workflowExecution?.workflowId !== stage.runId) return next(input);
        if (info.activityType === ACTIVITIES.callModel) return modelActivity(stage, input, next);
        return OWN.includes(info.activityType) ? next(input) : toolActivity(stage, info, input, next);
      },
    },
  });
}

async function modelActivity(stage: Harness, input: ActivityExecuteInput, next: Next): Promise<unknown> {
  const { through } = input.args[0] as CallModelInput;
  const step = stage.stepOf(through);
  if (stage.plan.take('kill_worker', (fault) => 'afterStep' in fault && fault.afterStep === step - 1)) return stage.worker?.kill();
  const cut = stage.plan.take('disconnect', ({ afterStep }) => afterStep === step - 1);
  if (cut !== undefined) stage.worker?.disconnect(cut.forMs);
  const output = (await stage.step.run(step, () => next(input))) as CallModelOutput;
  if (output.type === 'response') stage.answered(through);
  return output;
}

async function toolActivity(stage: Harness, { activityType: tool }: Info, input: ActivityExecuteInput, next: Next): Promise<unknown> {
  const { step } = input.args[0] as RunToolInput;
  const isHere = (fault: { tool?: string; step?: number }): boolean => fault.tool === tool && (fault.step ?? step) === step;
  const running = next(input);
  // What ends it is of interest once everybody has spoken.
  running.catch(() => undefined);
  const said = stage.plan.takeOccurrences({ step, tool });
  // The tool has begun when they speak.
  if (said.length > 0) await begun();
  for (const one of said) await stage.say(one);
  // A run that is cancelled does not wait for it; but what comes together with the cancellation would count.
  if (said.some(({ type }) => type === 'cancel')) await stage.over;
  const isDropped = stage.plan.take('drop_completion', isHere) !== undefined;
  const isKilled = stage.plan.take('kill_worker', (fault) => 'tool' in fault && isHere(fault)) !== undefined;
  if (!isDropped && !isKilled) return running;
  await running.catch(() => undefined);
  if (isKilled) return stage.worker?.kill();
  throw new CompleteAsyncError();
}
