import type OpenAI from 'openai';
import { type AssistantMessage, INSTRUCTIONS, PAGE_PARAMETERS, TOOL_DESCRIPTION, TOOL_NAME } from '../script/scripted-run.ts';
import type { LoopMessage } from './protocol.ts';

const TOOL = {
  type: 'function',
  function: {
    name: TOOL_NAME,
    description: TOOL_DESCRIPTION,
    strict: true,
    parameters: PAGE_PARAMETERS,
  },
} as const;

/** One model call: the `openai` package's own streaming call, assembled as in its documentation. */
export async function askOpenAI(client: OpenAI, model: string, conversation: readonly LoopMessage[]): Promise<AssistantMessage> {
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'system', content: INSTRUCTIONS }, ...conversation],
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
