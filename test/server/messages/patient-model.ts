import type { ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import { outputText } from '../../../src/core/domain/content.ts';
import { defineAgent } from '../../../src/index.ts';
import { search } from '../testbed/agents.ts';

/** An agent that reads messages until it has all of them. */
export const listener = defineAgent({ name: 'listener', model: 'patient/m', tools: [search], limits: { steps: 100_000 } });

/** The messages of users, in the order the model reads them. */
export function said({ conversation }: ModelRequest): string[] {
  return conversation
    .flatMap(({ content }) => content)
    .flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : []));
}

/** A model that calls a tool until it has read this many messages, and then answers with these messages. */
export function patientModel(messages: number): ModelClient {
  const answer = (request: ModelRequest): ModelResponse => {
    const read = said(request);
    const more = read.length < messages;
    return {
      content: more ? '' : JSON.stringify(read),
      toolCalls: more ? [{ name: 'search', arguments: { query: 'more' } }] : [],
      usage: null,
      finishReason: more ? 'tool_calls' : 'stop',
    };
  };
  return { capabilities: { structuredOutput: true }, call: (request) => Promise.resolve(answer(request)) };
}
