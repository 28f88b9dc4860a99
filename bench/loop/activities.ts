import { randomUUID } from 'node:crypto';
import type OpenAI from 'openai';
import { pageText, type AssistantMessage, INSTRUCTIONS, PAGE_PARAMETERS, TOOL_DESCRIPTION, TOOL_NAME } from '../script/scripted-run.ts';
import {
  type AskModelInput,
  type LoopEvent,
  type ReadPageInput,
  type LoopMessage,
  EVENTS_QUERY,
  type Reference,
  type ValueActivities,
} from './protocol.ts';
import { activityInfo, getClient } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';

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
async function askOpenAI(client: OpenAI, model: string, conversation: readonly LoopMessage[]): Promise<AssistantMessage> {
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

/** The conversations of the runs in this process: the same method as Longhaul's, with only the parts that the bench needs. */
class Transcripts {
  readonly #events = new LRUCache<string, LoopEvent[]>({ max: 1_000 });

  /** Returns the conversation of a call: from memory, from the input, or from the workflow. */
  async load(reference: Reference, fresh?: LoopEvent[]): Promise<LoopEvent[]> {
    const known = this.#events.get(runKey()) ?? fresh;
    if (known !== undefined && known[reference.through - 1]?.id === reference.lastId) return known.slice(0, reference.through);
    const { workflowExecution } = activityInfo();
    const handle = getClient().workflow.getHandle(workflowExecution?.workflowId ?? '', workflowExecution?.runId);
    const events = await handle.query<LoopEvent[], [number]>(EVENTS_QUERY, 0);
    return events.slice(0, reference.through);
  }

  /** Remembers an event that follows a conversation. */
  append(before: LoopEvent[], event: LoopEvent): void {
    this.#events.set(runKey(), [...before, event]);
  }

  /**
   * Like `append`, for a caller that has not loaded the conversation: nothing is remembered unless the conversation is in
   * memory.
   */
  appendTo({ through, lastId }: Reference, event: LoopEvent): void {
    const known = this.#events.get(runKey());
    if (known?.[through - 1]?.id === lastId) this.append(known.slice(0, through), event);
  }
}

function runKey(): string {
  const { workflowExecution } = activityInfo();
  return `${workflowExecution?.workflowId}/${workflowExecution?.runId}`;
}

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
