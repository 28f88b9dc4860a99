import { runAgent } from 'longhaul/workflow';
import type { planner, surveyor } from './agents.ts';

/** Two agents in one workflow: the second plans with the findings of the first. */
export async function journey(goal: string): Promise<{ distance: string; days: number; statuses: string[] }> {
  const survey = await runAgent<typeof surveyor>('surveyor', `How far is ${goal}?`);
  const plan = await runAgent<typeof planner>('planner', `Plan for ${survey.outputText}`);
  const statuses: string[] = [survey.status, plan.status];
  const days = typeof plan.output === 'object' ? plan.output.days : 0;
  return { distance: survey.outputText, days, statuses };
}
