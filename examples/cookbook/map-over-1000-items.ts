// A thousand reviews, twenty at a time, as one run: a killed worker does not repeat finished ones, and a bad item does not fail others.
import { defineProgram, defineTool } from 'longhaul';
import { ask, forEach, tool, unit } from 'longhaul/program';
import { z } from 'zod';

const verdict = z.object({ mood: z.enum(['good', 'bad']), about: z.string() });

const count = defineTool({
  name: 'count',
  description: 'Counts verdicts by their mood',
  parameters: z.object({ verdicts: z.array(verdict.nullable()) }),
  execute: ({ verdicts }) => ({
    good: verdicts.filter((one) => one?.mood === 'good').length,
    bad: verdicts.filter((one) => one?.mood === 'bad').length,
    failed: verdicts.filter((one) => one === null).length,
  }),
});

export const reviews = defineProgram({
  name: 'reviews',
  model: 'openai/gpt-5-nano',
  input: z.object({ reviews: z.array(z.string()).max(1_000) }),
  units: [
    unit('read', { persona: 'You sort reviews of a shop.' }, [
      forEach('Verdicts', '{{input.reviews}}', { as: 'review', atOnce: 20 }, [
        ask('Verdict', 'Is the customer content, and what is it about?\n{{review}}', {
          output: verdict,
          refine: { maxAttempts: 2, onExhaustion: 'skip' }, // its output is then null
        }),
      ]),
      tool('Count', count, { verdicts: '{{Verdicts}}' }),
    ]),
  ],
  output: { counts: '{{read.Count}}' },
  limits: { steps: 2_000, costUsd: 2 },
});
