import { Agent } from '@openai/agents-core';
import { activityAsTool, TemporalOpenAIRunner } from '@temporalio/openai-agents/workflow';
import { INSTRUCTIONS, PAGE_PARAMETERS, TOOL_DESCRIPTION, TOOL_NAME } from '../script/scripted-run.ts';

/** An agent of the OpenAI Agents SDK with one tool, run by the plugin's runner. */
export async function openaiAgentsRun(prompt: string, steps: number): Promise<string | undefined> {
  const { type, properties, required, additionalProperties } = PAGE_PARAMETERS;
  const readPage = activityAsTool(
    { name: TOOL_NAME, description: TOOL_DESCRIPTION, parameters: { type, properties, required: [...required], additionalProperties } },
    { startToCloseTimeout: '1 minute' },
  );
  const agent = new Agent({ name: 'reader', instructions: INSTRUCTIONS, model: 'pages', tools: [readPage] });
  const result = await new TemporalOpenAIRunner().run(agent, prompt, { maxTurns: steps + 1 });
  return result.finalOutput;
}
