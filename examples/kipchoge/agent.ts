import { defineAgent } from 'longhaul';
import { calculator, searchWeb, searchWikipedia } from './tools.ts';

export const kipchoge = defineAgent({
  name: 'kipchoge',
  model: `openai/${process.env['OPENAI_MODEL'] || 'gpt-5-mini'}`,
  instructions: [
    'You answer questions that take facts and a calculation.',
    'Look up every fact with search_web or search_wikipedia, even those you believe you know. Compute with the calculator.',
    'Before each call, say in one sentence what you are after. End with the answer and how you arrived at it, in two or three sentences.',
  ].join('\n'),
  tools: [searchWeb, searchWikipedia, calculator],
  limits: { steps: 10 },
});

// The CLI takes this module too: longhaul worker --agents examples/kipchoge/agent.ts
export const agents = [kipchoge];
