import { continueAsNew } from '@temporalio/workflow';
import { runAgent, type ContinueAsNewState } from '../../../workflows/index.ts';

/** A user's workflow with a clerk as its child. */
export async function parentClerk(clerk: string, input: string, runId: string): Promise<string> {
  return (await runAgent(clerk, input, { runId })).outputText;
}

/** A user's workflow with a clerk in its own history. It continues as new for it. */
export async function inlineClerk(clerk: string, input: string, continuedState?: ContinueAsNewState): Promise<string> {
  const end = await runAgent(clerk, input, { inline: true, key: 'clerk', ...(continuedState === undefined ? {} : { continuedState }) });
  return end.type === 'finished' ? end.result.outputText : continueAsNew<typeof inlineClerk>(clerk, input, end.continuedState);
}
