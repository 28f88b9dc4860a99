// Three tools, as you would write your own. These search a few facts that come with the example, so that it needs no
// network and always finds the same.
import { defineTool } from 'longhaul';
import { z } from 'zod';
import { calculate } from './arithmetic.ts';
import { type Fact, findFacts, WEB, WIKIPEDIA } from './facts.ts';

const query = z.string().min(1).describe('What to look for: a few words');

export const searchWeb = defineTool({
  name: 'search_web',
  description: 'Searches the web and returns the best hits: for records, results and other facts of the day',
  parameters: z.object({ query }),
  execute: (args) => hits(findFacts(WEB, args.query, 2), args.query),
});

export const searchWikipedia = defineTool({
  name: 'search_wikipedia',
  description: 'Looks for an article in Wikipedia and returns how it begins: for people, places, planets and definitions',
  parameters: z.object({ query }),
  execute: (args) => hits(findFacts(WIKIPEDIA, args.query, 1), args.query),
});

export const calculator = defineTool({
  name: 'calculator',
  description: 'Computes an arithmetic expression exactly. Use it for every calculation, however small',
  parameters: z.object({
    expression: z.string().describe('Numbers without units or thousands separators, + - * / ^, parentheses, sqrt, abs, floor, ceil, round'),
  }),
  // What is thrown reaches the model as the result of its call: it reads where the mistake is, and corrects it.
  execute: ({ expression }) => Number(calculate(expression).toPrecision(12)),
});

function hits(facts: readonly Fact[], wanted: string): string {
  if (facts.length === 0) return `Nothing was found for "${wanted}". Try other words.`;
  return facts.map(({ title, text }) => `${title}: ${text}`).join('\n');
}
