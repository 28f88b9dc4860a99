import { expect } from 'vitest';
import { listener, patientModel } from './patient-model.ts';
import { Testbed } from '../testbed/testbed.ts';

const CLIENTS = 5;
/** A step takes in all messages that arrive before it ends: with this limit an execution takes fewer than 20 on average. */
const UPDATES_OF_AN_EXECUTION = 16;

/** A run that has read the messages of five clients. */
export interface Read {
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
