import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ModelClient } from '../../../src/core/domain/model.ts';
import { SIGNALS } from '../../../src/core/protocol.ts';
import { fiveClients, listener, patientModel } from './five-clients.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test("1,000 messages of five clients are each read once, and each client's in order, by a run that continues as new every 20 messages", async () => {
  const { sent, read, executions } = await fiveClients(200);
  expect(read).toHaveLength(1_000 + 1);
  expect(new Set(read).size).toBe(1_000 + 1);
  for (const own of sent) expect(read.filter((name) => own.includes(name))).toEqual(own);
  expect(executions - 1).toBeGreaterThanOrEqual(45);
}, 400_000);

test('Updates that arrive during a long call are refused as busy after 1,600, and the client resends them to the next execution', async () => {
  await using testbed = await Testbed.open();
  const gate = Promise.withResolvers<undefined>();
  let asked = 0;
  const model = patientModel(2);
  const patient: ModelClient = {
    ...model,
    call: async (request, context) => {
      asked += 1;
      if (asked === 1) await gate.promise;
      return model.call(request, context);
    },
  };
  await testbed.work({ agents: [listener], providers: { patient } });
  const run = await testbed.client.start(listener, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => asked === 1, 'the model is asked');
  const clients = Array.from({ length: 8 }, async () => {
    for (let update = 0; update < 200; update += 1) await run.resume();
  });
  await Promise.all(clients);
  await expect(run.send('too much', { timeout: 300 })).rejects.toMatchObject({ message: expect.stringContaining('continued as new') });
  const sent = run.send('patience', { id: 'm1' });
  gate.resolve(undefined);
  expect(await sent).toMatchObject({ id: 'm1', status: 'queued' });
  expect(JSON.parse((await run.result()).outputText)).toEqual(['Q', 'patience']);
  expect((await run.status()).executions).toBeGreaterThan(1);
}, 200_000);

test('Signals that arrive while the run continues as new are read in order, and an invalid one becomes an event', async () => {
  await using testbed = await Testbed.open();
  const all = 60;
  await testbed.work({ agents: [listener], providers: { patient: patientModel(all + 1) }, continueAsNew: { events: 12 } });
  const run = await testbed.client.start(listener, { input: 'begin', taskQueue: testbed.taskQueue });
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  await handle.signal(SIGNALS.send, { id: 'no content' });
  const names = Array.from({ length: all }, (_, index) => `s${index}`);
  // The Signals are spread over several executions: the server starts at most one per second.
  for (const name of names) {
    await handle.signal(SIGNALS.send, { id: name, content: name });
    await pause(40);
  }
  const result = await run.result();
  expect(JSON.parse(result.outputText)).toEqual(['begin', ...names]);
  const events = await Array.fromAsync(run.events());
  expect(events.flatMap(({ refused }) => (refused === undefined ? [] : [refused]))).toMatchObject([{ request: 'send', id: 'no content' }]);
  expect((await run.status()).executions).toBeGreaterThan(2);
}, 60_000);
