// A workflow that runs two agents, one on the result of the other: longhaul dev --agents agents.ts --workflows report.ts
import { runAgent } from 'longhaul/workflow';
import type { researcher, writer } from './agents.ts'; // types alone: no code of an agent enters the sandbox

export async function report(topic: string): Promise<string> {
  const facts = await runAgent<typeof researcher>('researcher', `Research ${topic}`);
  const text = await runAgent<typeof writer>('writer', `Write about: ${facts.outputText}`);
  return text.outputText;
}
