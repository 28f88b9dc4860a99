import { runAgent } from '../../workflows/index.ts';

/** Two agents in one workflow: the second writes about what the first found. */
export async function report(topic: string): Promise<{ text: string; statuses: string[]; tokens: number }> {
  const facts = await runAgent('researcher', `Research: ${topic}`);
  const text = await runAgent('writer', `Write about: ${facts.outputText}`);
  return { text: text.outputText, statuses: [facts.status, text.status], tokens: facts.usage.totalTokens + text.usage.totalTokens };
}

/** What becomes of one agent, as its host sees it. */
export async function outcome(runId: string): Promise<{ status: string; error: string | null; cancelReason: string | undefined }> {
  const { status, error, cancelReason } = await runAgent('researcher', 'Q', { runId });
  return { status, error, cancelReason };
}
