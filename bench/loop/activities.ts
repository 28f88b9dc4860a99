import { randomUUID } from 'node:crypto';
import type OpenAI from 'openai';
import { pageText } from '../script/scripted-run.ts';
import { askOpenAI } from './ask-openai.ts';
import type { AskModelInput, LoopEvent, ReadPageInput } from './protocol.ts';
import { Transcripts } from './transcripts.ts';

/** The two activities of the loop, by their activity types. */
export interface LoopActivities {
  askModel(input: AskModelInput): Promise<LoopEvent>;
  read_page(input: ReadPageInput): Promise<LoopEvent>;
}

/** Makes the activities of the loop. `resultChars` is the length of a tool result. */
export function loopActivities(client: OpenAI, model: string, resultChars: number): LoopActivities {
  const transcripts = new Transcripts();
  return {
    askModel: async ({ fresh, ...reference }) => {
      const before = await transcripts.load(reference, fresh);
      const messages = before.map(({ message }) => message);
      const event: LoopEvent = { id: eventId(), message: await askOpenAI(client, model, messages) };
      transcripts.append(before, event);
      return event;
    },
    read_page: async ({ call, ...reference }) => {
      const { page } = JSON.parse(call.function.arguments) as { page: number };
      const event: LoopEvent = { id: eventId(), message: { role: 'tool', tool_call_id: call.id, content: pageText(page, resultChars) } };
      transcripts.appendTo(reference, event);
      return event;
    },
  };
}

function eventId(): string {
  return randomUUID().slice(0, 8);
}
