import type { Client } from '@temporalio/client';
import { readChain } from './read-chain.ts';

/** The number of events that are shown. */
const SHOWN = 8;

/** Describes the state of a workflow that has not ended: its pending activities, its pending workflow task, its newest events. */
export async function describeProgress(client: Client, workflowId: string): Promise<string> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const activities = (raw.pendingActivities ?? []).map(
    ({ activityType, attempt, lastFailure }) =>
      `${activityType?.name} (attempt ${attempt}${lastFailure ? `: ${lastFailure.message}` : ''})`,
  );
  const task = raw.pendingWorkflowTask ? [`a workflow task (attempt ${raw.pendingWorkflowTask.attempt})`] : [];
  const newest = (await readChain(client, workflowId)).at(-1)?.events.slice(-SHOWN) ?? [];
  const types = newest.map((event) => Object.entries(event).find(([name, value]) => name.endsWith('Attributes') && value)?.[0] ?? '');
  return `it waits for ${[...activities, ...task].join(', ') || 'nothing'}; its newest events: ${types.map((name) => name.replace('EventAttributes', '')).join(', ')}`;
}
