// Personal data of a result is masked before the model reads it and before it is recorded: neither provider nor history has it.
import { defineAgent, defineHook, defineTool, personalData } from 'longhaul';
import { z } from 'zod';

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks up a customer by number',
  parameters: z.object({ customer: z.int() }),
  execute: ({ customer }) => ({
    customer,
    name: 'Ada',
    email: 'ada@acme.example',
    iban: 'CH93 0076 2011 6238 5295 7',
    notes: 'Call +41 44 668 18 00 before noon. Prefers blue.',
  }),
});

/** What is masked, by pattern. A field that must never leave the tool should not be in its result at all. */
const MASKS: readonly [RegExp, string][] = [
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '[e-mail]'],
  [/\b[A-Z]{2}\d{2}(?: ?[A-Z\d]){11,30}\b/g, '[iban]'],
  [/\+\d[\d ]{7,17}\d/g, '[phone]'],
];

export function masked(text: string): string {
  return MASKS.reduce((rest, [pattern, mask]) => rest.replaceAll(pattern, mask), text);
}

/** For the calls of all tools, in the activity of the call. A hook that throws changes nothing: this one has nothing that can throw. */
const mask = defineHook({
  name: 'mask',
  on: 'post_tool_use',
  run: ({ result }) => ({ modify: { result: JSON.parse(masked(JSON.stringify(result))) } }),
});

export const support = defineAgent({
  name: 'support',
  model: 'openai/gpt-5-mini',
  instructions: 'You answer questions about customers.',
  tools: [lookUp],
  hooks: [mask],
  guardrails: [personalData({ type: 'output' })], // and no answer with personal data leaves the worker
});
