// A report every morning, by a Schedule of Temporal: the server starts the run, so neither a cron job nor a process of yours has to be up
// at that minute. A worker takes the run as soon as it is there.
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { defineAgent, defineTool } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';
import type { NotifyEnded } from 'longhaul/worker';
import { z } from 'zod';

const ordersOf = defineTool({
  name: 'orders_of',
  description: 'Counts the orders of a day',
  parameters: z.object({ daysAgo: z.int().min(0).max(30) }),
  execute: ({ daysAgo }) => ({ orders: 1204 - daysAgo, returned: 17 }),
});

export const reporter = defineAgent({
  name: 'reporter',
  model: 'openai/gpt-5-mini',
  instructions: 'Report on the orders of yesterday in two sentences. Compare them with the day before.',
  tools: [ordersOf],
  limits: { deadline: '1h', costUsd: 0.2 },
});

/** For `notifyEnded` of the worker: called until it succeeds, with the same id each time. */
export const announce =
  (post: (id: string, text: string) => Promise<void>): NotifyEnded =>
  async ({ id, agentName, result }) => {
    if (agentName === reporter.name) await post(id, result.success ? result.outputText : `No report today: ${result.summary()}`);
  };

/** Creates the schedule, once. `client.temporal.schedule` lists, pauses, triggers and deletes it. */
export async function scheduleReport(client: LonghaulClient, scheduleId: string, taskQueue = 'longhaul'): Promise<void> {
  await client.temporal.schedule.create({
    scheduleId,
    // A time between 02:00 and 03:00 does not exist on the day when the clock is put forward.
    spec: { cronExpressions: ['30 6 * * *'], timezone: 'Europe/Zurich' },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '6h' },
    action: {
      type: 'startWorkflow',
      workflowType: 'agentRun',
      workflowId: scheduleId, // the server adds the time: each day is a separate run
      taskQueue,
      args: [{ agent: reporter.name, input: 'The report of yesterday, please.', tags: ['nightly'] }],
    },
  });
}
