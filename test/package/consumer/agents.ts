import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

const convert = defineTool({
  name: 'convert_miles',
  description: 'Converts miles to kilometres.',
  parameters: z.object({ miles: z.number() }),
  execute: ({ miles }) => `${(miles * 1.609344).toFixed(1)} km`,
});

export const surveyor = defineAgent({
  name: 'surveyor',
  model: 'scripted/survey',
  instructions: 'Find the distance in kilometres.',
  tools: [convert],
});

export const planner = defineAgent({
  name: 'planner',
  model: 'scripted/plan',
  instructions: 'Plan the run.',
  output: z.object({ days: z.number() }),
});
