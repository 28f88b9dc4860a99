import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

// Longer than the summaries that the Temporal UI shows.
const NOTE = `note ${'n'.repeat(400)}`;
const ADDRESS = 'Bergen';

const send = defineTool({
  name: 'send',
  description: 'Sends a letter.',
  parameters: z.object({ to: z.string() }),
  approval: 'always',
  execute: () => 'sent',
});
const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [send], replyFormat: 'json' });

const SCRIPT = [
  say('I will send it.'),
  say(JSON.stringify({ scratchpad: NOTE, tool: 'send', arguments: { to: ADDRESS } })),
  say('<think>It is sent.</think>```json\n{"answer":"Sent."}\n```'),
];

/** Counts a text in the payloads of a history. */
function occurrences(history: unknown, text: string): number {
  let count = 0;
  JSON.stringify(history, (_, value: unknown) => {
    if (value instanceof Uint8Array || (typeof value === 'string' && /^[A-Za-z0-9+/]{8,}={0,2}$/.test(value))) {
      count +=
        Buffer.from(value as string, 'base64')
          .toString()
          .split(text).length - 1;
    }
    return typeof value === 'bigint' ? String(value) : value;
  });
  return count;
}

test('a JSON agent waits for an approval, is read back from its history, and records a note once', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const run = await testbed.client.start(clerk, { input: 'Send the letter', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the approval is pending');
  const [waiting] = (await run.approvals()).pending;
  expect(waiting).toMatchObject({ toolName: 'send', arguments: { to: ADDRESS } });
  await run.approve(waiting?.callId ?? '', { by: 'ann' });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', output: 'Sent.', stepsUsed: 3 });
  expect(scripted.requests.map(({ settings }) => settings.temperature)).toEqual([0.7, 0.9, 0.9]);
  const [answer] = scripted.requests[2]?.conversation.at(-2)?.content ?? [];
  expect(answer).toMatchObject({ content: JSON.stringify({ scratchpad: NOTE, tool: 'send', arguments: { to: ADDRESS } }) });
  expect(occurrences(await historyOf(testbed, run), NOTE)).toBe(1);
  await expectSameFromHistory(testbed, run);
}, 60_000);
