import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import { agentTool, defineAgent, defineGuardrail, defineHook, defineTool } from '../../../src/index.ts';
import { type BatchOptions, openai } from '../../../worker/index.ts';
import { type BatchApi, type BatchApiOptions, completion, lastText, startBatchApi } from '../../fakes/batch-api.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const MODEL = 'openai/gpt-4.1';

const look = defineTool({
  name: 'look',
  description: 'Looks',
  parameters: z.object({ at: z.string() }),
  execute: ({ at }) => `seen ${at}`,
});
export const clerk = defineAgent({ name: 'clerk', model: MODEL, tools: [look] });
export const quick = defineAgent({ name: 'quick', model: MODEL, tools: [look], burst: true });
export const plain = defineAgent({ name: 'plain', model: MODEL });
export const tempered = defineAgent({ name: 'tempered', model: MODEL, settings: { temperature: 0.2 } });
const child = defineAgent({ name: 'child', model: MODEL, description: 'Answers' });
export const parent = defineAgent({ name: 'parent', model: MODEL, tools: [agentTool(child)], tier: 'batch' });
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `paid ${amount}`,
});
export const payer = defineAgent({ name: 'payer', model: MODEL, tools: [pay] });
const discreet = defineGuardrail({
  name: 'discreet',
  type: 'output',
  check: ({ text }) => (text.includes('secret') ? { passed: false, message: 'It tells' } : { passed: true }),
});
export const guarded = defineAgent({ name: 'guarded', model: MODEL, guardrails: [discreet] });
const polite = defineHook({ name: 'polite', on: 'pre_request', run: () => ({ inject: 'Be polite.' }) });
export const hooked = defineAgent({ name: 'hooked', model: MODEL, hooks: [polite] });
export const asking = defineProgram({
  name: 'asking',
  model: MODEL,
  units: [unit('u', {}, [ask('First', 'one', { tier: 'batch' }), ask('Second', 'two {{First.output}}')])],
});

/** The tool call of a question, then its answer. */
export const lookAndTell: NonNullable<BatchApiOptions['answer']> = (line) =>
  lastText(line).startsWith('Q')
    ? completion('', [{ name: 'look', arguments: { at: lastText(line) } }])
    : completion(`found ${lastText(line)}`);

/** A worker whose model calls of the tier `batch` go to a fake of the API. */
export interface Scene extends AsyncDisposable {
  testbed: Testbed;
  api: BatchApi;
  start: (agent: typeof plain, input: string) => Promise<RunHandle<unknown>>;
}

export async function begun(options: BatchApiOptions, batch: BatchOptions = {}, more: object = {}): Promise<Scene> {
  const testbed = await Testbed.open();
  const api = await startBatchApi(options);
  await testbed.work({
    agents: [tempered, clerk, quick, plain, parent, hooked, payer, guarded],
    programs: [asking],
    providers: { openai: openai({ baseURL: api.url, apiKey: 'key', api: 'chat' }) },
    batch: { openai: { window: 400, ...batch } },
    ...more,
  });
  return {
    testbed,
    api,
    start: (agent, input) => testbed.client.start(agent, { input, tier: 'batch', taskQueue: testbed.taskQueue }),
    [Symbol.asyncDispose]: async () => {
      await testbed[Symbol.asyncDispose]();
      await api.close();
    },
  };
}

/** Returns the names of the activities of a run, in the order they were scheduled. */
export async function callsIn(testbed: Testbed, run: RunHandle<unknown>): Promise<string[]> {
  const history = await historyOf(testbed, run);
  return history.flatMap(({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name ?? []);
}

/** Waits until the provider has a batch. */
export async function posted({ api }: Scene, count = 1): Promise<void> {
  await until(() => api.batches.length >= count, 'the batch is submitted');
}
