import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openai } from '../../../../activities/models/openai/openai.ts';
import { defineAgent } from '../../../../src/index.ts';
import { says } from '../../../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../../../fakes/openai-server.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { Testbed } from '../../testbed/testbed.ts';

test('a session whose provider refuses its conversation continues with a summary of it, and its history says the same', async () => {
  const provider = await startFakeOpenAI((reply, request) => {
    if (request.text.includes('Summarize it.')) return says('They met.')(reply, request);
    if (request.text.includes('poison')) return reply.json(400, { error: { message: `Something is odd (request ${randomUUID()})` } });
    return says('Hello.')(reply, request);
  });
  await using testbed = await Testbed.open();
  const agent = defineAgent({ name: 'talker', model: 'fake/m', instructions: ['One.', 'Two.'] });
  await testbed.work({ agents: [agent], providers: { fake: openai({ baseURL: provider.url, apiKey: 'none' }) } });
  const session = testbed.client.session('talker', { id: `talk-${randomUUID()}`, taskQueue: testbed.taskQueue });
  expect(await session.ask('poison')).toMatchObject({ status: 'error', errorCode: 'model_bad_request' });
  expect(await session.ask('And now?')).toMatchObject({ status: 'completed', output: 'Hello.' });
  await expectSameFromHistory(testbed, { runId: session.id });
  await session.close();
  await session.run.result();
  const events = await Array.fromAsync(session.run.events());
  expect(events.flatMap(({ notices = [] }) => notices.map(({ code }) => code))).toEqual(['conversation_repaired']);
  await provider.close();
}, 60_000);
