import { expect, test } from 'vitest';
import { z } from 'zod';
import { openai } from '../../../activities/models/openai/openai.ts';
import type { StepRequest } from '../../../src/client/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { memoryNamespace } from '../../../src/memory/memory-store.ts';
import { fakeMemory } from '../../fakes/fake-memory.ts';
import { chatStream, outputMessage, responsesStream, says } from '../../fakes/openai-answers.ts';
import { type Handler, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { Testbed } from '../testbed/testbed.ts';

const fetchPage = defineTool({
  name: 'fetch_page',
  description: 'Fetches a page',
  parameters: z.object({ page: z.number() }),
  execute: ({ page }) => `page ${page}: ${String(page).repeat(2_000)}`,
});
const window = { maxBytes: 9_000, keepResults: 1, summaryModel: 'openai/small' as const };
const billing = defineAgent({ name: 'billing', model: 'openai/m', instructions: 'You are billing.', tools: [fetchPage], window });
const triage = defineAgent({
  name: 'triage',
  model: 'openai/m',
  instructions: ['You are triage.', 'Be brief.'],
  tools: [fetchPage],
  handoffs: [billing],
  memory: true,
  window,
  settings: { temperature: 0.3, toolChoice: { tool: 'fetch_page' } },
  limits: { steps: 8 },
  finalAttempt: true,
});

interface Answer {
  text: string;
  call?: { name: string; args: object };
}

const LONG = 'n'.repeat(900);
const fetched = (page: number): Answer => ({ text: `note ${page} ${LONG}`, call: { name: 'fetch_page', args: { page } } });
const SCRIPT: readonly Answer[] = [
  ...[1, 2, 3, 4].map(fetched),
  { text: 'Over to billing', call: { name: 'transfer_to_agent', args: { agent: 'billing' } } },
  ...[5, 6, 7].map(fetched),
  { text: 'That is all' },
];

function chatAnswer({ text, call }: Answer, index: number): Handler {
  if (call === undefined) return says(text);
  const fields = { name: call.name, arguments: JSON.stringify(call.args) };
  return chatStream(
    [{ role: 'assistant', content: text }, { tool_calls: [{ index: 0, id: `c${index}`, function: fields }] }],
    'tool_calls',
  );
}

function responsesAnswer({ text, call }: Answer, index: number): Handler {
  const reasoning = { type: 'reasoning', id: `rs_${index}`, summary: [], encrypted_content: `sealed ${index}` };
  const calls =
    call === undefined
      ? []
      : [{ type: 'function_call', id: `fc_${index}`, call_id: `c${index}`, name: call.name, arguments: JSON.stringify(call.args) }];
  return responsesStream([reasoning, outputMessage(text), ...calls]);
}

test.each([
  { api: 'chat', answerOf: chatAnswer, summary: says('They read some pages.') },
  { api: 'responses', answerOf: responsesAnswer, summary: responsesStream([outputMessage('They read some pages.')]) },
] as const)(
  'the requests of a run over $api are built from its history byte for byte: with memory, compaction, a handoff, a final attempt, over executions',
  { timeout: 120_000 },
  async ({ api, answerOf, summary }) => {
    await using testbed = await Testbed.open();
    let asked = 0;
    const fake = await startFakeOpenAI((reply, request) => {
      if (request.body['model'] === 'small') return summary(reply, request);
      const index = asked++;
      return answerOf(SCRIPT[index] ?? { text: 'too much' }, index)(reply, request);
    });
    try {
      const principal = { tenant: 'acme', user: 'ada' };
      const namespace = memoryNamespace({ principal, agent: 'triage' });
      const providers = { openai: openai({ baseURL: fake.url, api, apiKey: 'key-of-the-worker' }) };
      const memory = fakeMemory([{ namespace, key: 'colour', value: 'green' }]);
      await testbed.work({ agents: [triage, billing], providers, memory, continueAsNew: { events: 20 } });
      const run = await testbed.client.start(triage, { input: 'Which colour?', principal, taskQueue: testbed.taskQueue });
      const { status, stopReason } = await run.result();
      expect([status, stopReason]).toEqual(['max_iterations_reached', 'step_limit']);
      const { executions, currentStep } = await run.status();
      expect(executions).toBeGreaterThan(1);
      await testbed.stopWorkers();
      const sent = fake.requests.filter(({ body }) => body['model'] !== 'small').map(({ text }) => text);
      expect([sent.length, currentStep]).toEqual([SCRIPT.length, SCRIPT.length]);
      // As of a service, which has the providers and no key.
      const described = { openai: openai({ baseURL: fake.url, api }) };
      const rebuilt: StepRequest[] = [];
      for (let step = 1; step <= currentStep; step += 1) rebuilt.push(await run.request(step, { diff: 'previous', providers: described }));
      expect(rebuilt.map(({ wire }) => JSON.stringify(wire?.body))).toEqual(sent);
      expect(rebuilt.flatMap(({ unknown }) => unknown)).toEqual([]);
      expect(rebuilt.map(({ asOf, final = false }) => `${asOf} ${final}`)).toEqual([
        ...Array.from({ length: 8 }, () => 'rebuilt false'),
        'rebuilt true',
      ]);
      const diffs = rebuilt.flatMap(({ diff }) => diff ?? []);
      expect(diffs.some(({ evicted }) => evicted.length > 0)).toBe(true);
      expect(diffs.some(({ summarized }) => summarized.length > 0)).toBe(true);
      expect(diffs[4]?.changed).toEqual(expect.arrayContaining(['instructions/0', 'instructions/1', 'tools/transfer_to_agent']));
      expect(diffs[0]).toMatchObject({ step: 1, added: [{ type: 'message' }, { type: 'tool_call' }, { type: 'tool_result' }] });
      expect(JSON.stringify(rebuilt[0]?.request.conversation)).toContain('green');
      await expect(run.request(10)).rejects.toMatchObject({ code: 'unknown_step', message: expect.stringContaining('steps 1 to 9') });
    } finally {
      await fake.close();
    }
  },
);
