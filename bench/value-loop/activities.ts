import type OpenAI from 'openai';
import { askOpenAI } from '../loop/ask-openai.ts';
import { pageText } from '../script/scripted-run.ts';
import type { ValueActivities } from './protocol.ts';

/** Makes the activities of the loop by value. `resultChars` is the length of a tool result. */
export function valueActivities(client: OpenAI, model: string, resultChars: number): ValueActivities {
  return {
    askModel: (conversation) => askOpenAI(client, model, conversation),
    read_page: async (call) => {
      const { page } = JSON.parse(call.function.arguments) as { page: number };
      return pageText(page, resultChars);
    },
  };
}
