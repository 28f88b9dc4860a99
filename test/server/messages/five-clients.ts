import { expect } from 'vitest';
import { listener, patientModel } from './patient-model.ts';
import { Testbed } from '../testbed/testbed.ts';

const CLIENTS = 5;
/** A step that has begun takes what comes meanwhile: with this limit an execution takes fewer than 20 on average. */
const UPDATES_OF_AN_EXECUTION = 16;

/** What a run has read that five clients have told so many messages each. */
export interface Read {
  /** The names of the messages, by client, in the order in which they were sent. */
  readonly sent: string[][];
  /** What the model has read: the first message, and these. */
  readonly read: string[];
  readonly executions: number;
}

/** Has five clients send messages to a run at the same time, one after the other each, across a switch every 20 at most. */
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
