// An agent with limits and a typed answer, and one that may take 100,000 steps.
import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

export const triage = defineAgent({
  name: 'triage',
  model: 'openai/gpt-5-mini',
  deps: z.object({ language: z.string().default('English') }),
  instructions: async ({ language }) => `Say how urgent the report is. Answer in ${language}.`, // called once per run
  output: z.object({ urgency: z.enum(['low', 'high']), summary: z.string() }),
  limits: { totalTokens: 50_000, costUsd: 0.5, deadline: '10m' },
  onLimit: 'ask', // a person may raise the limit; 'stop', the default, ends the run
});

const readLog = defineTool({
  name: 'read_log',
  description: 'Reads the log of one hour',
  parameters: z.object({ hour: z.int() }),
  execute: ({ hour }) => `no errors in hour ${hour}; `.repeat(hour),
  maxResultBytes: 20_000,
  overflow: 'spill', // what is larger goes to the payload store, and the model sees its beginning
});

export const monitor = defineAgent({
  name: 'monitor',
  model: 'openai/gpt-5-mini',
  instructions: 'Read the log of every hour. Say what is wrong.',
  tools: [readLog],
  limits: { steps: 100_000 },
  window: { maxTokens: 60_000, keepResults: 4, summaryModel: 'openai/gpt-5-nano' },
});
