import { z } from 'zod';
import { agentTool, type AnyAgent, defineAgent, defineHook, defineTool, type ModelName, quickjs } from '../../src/index.ts';
import type { JsonObject } from '../../src/core/domain/json.ts';
import type { Answer, Said } from './families.ts';
import type { Package } from './packages.ts';

/** A run whose reasoning goes back and forth: its agent, what the model says, and the last output. */
export interface RoundTrip {
  title: string;
  agent: AnyAgent;
  script: Answer[];
  output: string;
  /** True if a summary is due between the calls of an answer and their results. */
  isSummarized?: true;
}

/** The settings that make the models of a package think before each call. */
function thinking({ name }: Package): { settings?: { maxOutputTokens: number; extra: JsonObject } } {
  if (name !== 'anthropic') return {};
  return { settings: { maxOutputTokens: 4_000, extra: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } } } };
}

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  parameters: z.object({ q: z.string() }),
  execute: ({ q }) => `found ${q}: ${'it is written there. '.repeat(20)}`,
});

/** Returns the runs of a package: each thinks before each call, as often as its family does. */
export function roundTrips(one: Package): RoundTrip[] {
  const { family } = one;
  const model: ModelName = `p/${one.modelId}`;
  const base = { model, ...thinking(one) };
  let ids = 0;
  const thought: Said[] = family.thinks ? [{ thinking: 'Hmm, look.' }] : [];
  const calls = (...asked: [name: string, input: object][]): Answer => ({
    parts: [
      ...thought,
      { text: 'I act.' },
      ...asked.map(([call, input]): Said => ({ call, id: family.id(++ids), input: JSON.stringify(input) })),
    ],
  });
  const look = (...asked: string[]): Answer => calls(...asked.map((q): [string, object] => ['look_up', { q }]));
  /** Looks, with a long text that no eviction of results makes shorter. */
  const tells = (length: number, ...asked: string[]): Answer => {
    const { parts } = look(...asked);
    return { parts: parts.map((part) => ('text' in part ? { text: 'I act. '.repeat(length / 7) } : part)) };
  };
  const says = (text: string): Answer => ({ parts: [...thought, { text }] });
  const helper = defineAgent({ ...base, name: 'helper', description: 'Helps.', tools: [lookUp] });
  const masks = defineHook({
    name: 'masks',
    on: 'post_response',
    run: ({ text }) => (text === '' ? undefined : { modify: { text: 'Masked.' } }),
  });
  const small = { window: { maxBytes: 3_000, keepResults: 1 } };
  return [
    {
      title: 'several steps',
      agent: defineAgent({ ...base, name: 'clerk', tools: [lookUp] }),
      script: [look('a', 'b'), look('c'), says('Done.')],
      output: 'Done.',
    },
    {
      title: 'a handoff',
      agent: defineAgent({ ...base, name: 'desk', tools: [lookUp], handoffs: [helper] }),
      script: [look('a'), calls(['transfer_to_agent', { agent: 'helper' }]), look('b'), says('Done.')],
      output: 'Done.',
    },
    {
      title: 'an agent as a tool',
      agent: defineAgent({ ...base, name: 'lead', tools: [agentTool(helper)] }),
      script: [calls(['helper', { request: 'Help.' }]), look('a'), says('Helped.'), says('Done.')],
      output: 'Done.',
    },
    {
      title: 'cells of code',
      agent: defineAgent({ ...base, name: 'coder', tools: [lookUp], code: { executor: quickjs() } }),
      script: [calls(['run_code', { code: "print(await look_up({ q: 'a' }))" }]), look('b'), says('Done.')],
      output: 'Done.',
    },
    {
      title: 'a window that is full',
      agent: defineAgent({ ...base, name: 'reader', tools: [lookUp], ...small }),
      script: [look('a', 'b'), look('c', 'd'), look('e', 'f'), look('g'), says('Done.')],
      output: 'Done.',
    },
    {
      title: 'a window that is full between calls and their results',
      agent: defineAgent({ ...base, name: 'talker', tools: [lookUp], window: { maxBytes: 4_000, keepResults: 1 } }),
      script: [tells(1_500, 'a'), tells(1_500, 'b', 'c'), says('They looked.'), says('Done.')],
      output: 'Done.',
      isSummarized: true,
    },
    {
      title: 'a hook that replaces texts',
      agent: defineAgent({ ...base, name: 'masked', tools: [lookUp], hooks: [masks] }),
      script: [look('a'), look('b'), says('Done.')],
      output: 'Masked.',
    },
  ];
}
