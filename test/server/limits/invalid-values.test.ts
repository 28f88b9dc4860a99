import { expect, test } from 'vitest';
import { z } from 'zod';
import { askHuman, defineAgent } from '../../../src/index.ts';
import type { RunHandle } from '../../../src/client/index.ts';
import { SIGNALS, UPDATES } from '../../../src/core/protocol.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const choose = askHuman({
  name: 'choose',
  description: 'Asks a person for a list.',
  answer: z.array(z.union([z.string(), z.object({ a: z.string() })])),
});

const agent = defineAgent({ name: 'asker', model: 'scripted/m', tools: [choose] });

async function asking(testbed: Testbed): Promise<RunHandle<unknown>> {
  const scripted = scriptedModel([callTool('choose', { question: 'Which?' }, 'c1'), say('done')]);
  // If workflows run in a separate thread, the worker ends the ones that take some seconds.
  await testbed.work({ agents: [agent], providers: { scripted }, worker: { debugMode: false } });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits for the answer');
  return run;
}

/** Failure messages of the workflow tasks of a run. */
async function failedTasks(testbed: Testbed, run: RunHandle<unknown>): Promise<unknown[]> {
  const history = await historyOf(testbed, run);
  return history.filter((event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes);
}

test('an answer of 3,000 numbers that matches no member of a union is refused with a short message, and the run continues', async () => {
  await using testbed = await Testbed.open();
  const run = await asking(testbed);
  const refused = await run
    .respond(
      'c1',
      Array.from({ length: 3_000 }, (_, index) => index % 10),
    )
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'invalid_arguments',
    message:
      '"content" for call "c1" does not fit tool "choose": [0]: expected string or object, got number; and there may be more problems',
  });
  await run.respond('c1', ['this', { a: 'that' }]);
  expect(await run.result()).toMatchObject({ status: 'completed', outputText: 'done' });
  expect(await failedTasks(testbed, run)).toEqual([]);
});

test('a message of 2,000 invalid parts is refused with a short message, as an Update and as a Signal, and the run continues', async () => {
  await using testbed = await Testbed.open();
  const run = await asking(testbed);
  const parts = Array.from({ length: 2_000 }, () => ({ type: 'x' }));
  // The client would refuse it before sending.
  await expect(run.send(parts as never, { id: 'm1' })).rejects.toMatchObject({ code: 'invalid_input' });
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  const problem = 'content[0].type: expected "text", "image", "audio", "video" or "file", got "x"; and there may be more problems';
  await expect(handle.executeUpdate(UPDATES.send, { args: [{ id: 'm1', content: parts }] })).rejects.toMatchObject({
    cause: { type: 'invalid_input', message: `Run "${run.runId}" refused a message: ${problem}` },
  });
  await handle.signal(SIGNALS.send, { id: 'm2', content: parts });
  await run.respond('c1', ['this']);
  expect(await run.result()).toMatchObject({ status: 'completed', outputText: 'done' });
  expect(await failedTasks(testbed, run)).toEqual([]);
});
