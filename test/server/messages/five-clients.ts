import { expect } from 'vitest';
import { outputText } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import { defineAgent } from '../../../src/index.ts';
import { search } from '../testbed/agents.ts';
import { Testbed } from '../testbed/testbed.ts';

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

const CLIENTS = 5;
/** A step takes in all messages that arrive before it ends: with this limit an execution takes fewer than 20 on average. */
const UPDATES_OF_AN_EXECUTION = 16;

/** A run that has read the messages of five clients. */
interface Read {
  /** The names of the messages, by client, in the order they were sent. */
  readonly sent: string[][];
  /** The messages that the model has read: the first one, and the messages of the clients. */
  readonly read: string[];
  readonly executions: number;
}

/** Five clients send messages to a run at the same time, each client sequentially. The run continues as new after at most 20. */
export async function fiveClients(messagesOfEach: number): Promise<Read> {
  await using testbed = await Testbed.open();
  const all = CLIENTS * messagesOfEach;
  await testbed.work({
    agents: [listener],
    providers: { patient: patientModel(all + 1) },
    continueAsNew: { updates: UPDATES_OF_AN_EXECUTION },
  });
  const run = await testbed.client.start(listener, { input: 'begin', taskQueue: testbed.taskQueue });
  const sent = Array.from({ length: CLIENTS }, (_, client) => Array.from({ length: messagesOfEach }, (__, index) => `c${client}-${index}`));
  await Promise.all(
    sent.map(async (own) => {
      for (const name of own) expect(await run.send(name, { id: name, timeout: 60_000 })).toMatchObject({ id: name });
    }),
  );
  const result = await run.result();
  const { executions } = await run.status();
  return { sent, read: JSON.parse(result.outputText) as string[], executions };
}
