// The agents of the workflow in report.ts.
import { defineAgent } from 'longhaul';

export const researcher = defineAgent({ name: 'researcher', model: 'openai/gpt-5-mini', instructions: 'Collect facts.' });
export const writer = defineAgent({ name: 'writer', model: 'openai/gpt-5-mini', instructions: 'Write a short report.' });
export const agents = [researcher, writer];
