import type OpenAI from 'openai';
import { type AssistantMessage, TOOL_NAME } from '../scripted-run.ts';
import type { LoopEvent } from './protocol.ts';

/** The system message of the loop and of the agent. */
export const INSTRUCTIONS = 'You read pages. Call the tool for one page at a time.';

/** What the model is told of the tool, by the loop and by the agent. */
export const TOOL_DESCRIPTION = 'Reads one page and returns its text.';

const TOOL = {
  type: 'function',
  function: {
    name: TOOL_NAME,
    description: TOOL_DESCRIPTION,
    strict: true,
    parameters: { type: 'object', properties: { page: { type: 'number' } }, required: ['page'], additionalProperties: false },
  },
} as const;

/** One model call: the `openai` package's own streaming call, put together as its documentation does. */
export async function askOpenAI(client: OpenAI, model: string, events: LoopEvent[]): Promise<AssistantMessage> {
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'system', content: INSTRUCTIONS }, ...events.map(({ message }) => message)],
    tools: [TOOL],
    tool_choice: 'auto',
    stream: true,
    stream_options: { include_usage: true },
  });
  let content = '';
  let id = '';
  let args = '';
  for await (const { choices } of stream) {
    const delta = choices[0]?.delta;
    content += delta?.content ?? '';
    const call = delta?.tool_calls?.[0];
    id += call?.id ?? '';
    args += call?.function?.arguments ?? '';
  }
  if (id === '') return { role: 'assistant', content };
  return { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name: TOOL_NAME, arguments: args } }] };
}
