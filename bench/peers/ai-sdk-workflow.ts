import { temporalProvider } from '@temporalio/ai-sdk/workflow';
import { proxyActivities } from '@temporalio/workflow';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { INSTRUCTIONS, PAGE_PARAMETERS, TOOL_DESCRIPTION, TOOL_NAME } from '../script/scripted-run.ts';

interface Page {
  page: number;
}

const { read_page: readPage } = proxyActivities<{ read_page(input: Page): Promise<string> }>({ startToCloseTimeout: '1 minute' });

/** `generateText` with the plugin's model and one tool. */
export async function aiSdkRun(prompt: string, steps: number): Promise<string> {
  const { type, properties, required, additionalProperties } = PAGE_PARAMETERS;
  const result = await generateText({
    model: temporalProvider.languageModel('pages'),
    system: INSTRUCTIONS,
    prompt,
    tools: {
      [TOOL_NAME]: tool({
        description: TOOL_DESCRIPTION,
        inputSchema: jsonSchema<Page>({ type, properties, required: [...required], additionalProperties }),
        // With the activity itself, as in the plugin's documentation, the conversation would be passed as a second argument.
        execute: (input) => readPage(input),
      }),
    },
    stopWhen: stepCountIs(steps + 1),
  });
  return result.text;
}
