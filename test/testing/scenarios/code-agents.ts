import { z } from 'zod';
import { type AnyTool, contextUpdate, defineAgent, defineTool, quickjs, withUpdate } from '../../../src/index.ts';
import { callTool, say, type ScriptEntry } from '../../../src/testing/index.ts';
import { agentWith, toolThat } from './scenario.ts';

const find = defineTool({
  name: 'find',
  description: 'Finds a text',
  parameters: z.object({ text: z.string() }),
  result: z.string(),
  execute: ({ text }) => `found ${text}`,
});
const cached = defineTool({
  name: 'cached',
  description: 'Finds a text at once',
  parameters: z.object({ text: z.string() }),
  tier: 'local',
  execute: ({ text }) => `cached ${text}`,
});
const rows = defineTool({
  name: 'rows',
  description: 'Reads all rows',
  parameters: z.object({}),
  callers: ['code'],
  execute: () => [3, 1, 2],
});
const careful = defineTool({
  name: 'careful',
  description: 'Must be thought about',
  parameters: z.object({}),
  callers: ['model'],
  execute: () => 'careful',
});
const down = toolThat('down', () => {
  throw new Error('the service is down');
});
const keeping = toolThat('keeping', ({ text }, { state, setState }) => {
  setState('last', text ?? '');
  return `before: ${JSON.stringify(state)}`;
});
const deps = z.object({ rank: z.string() });
const promote = defineTool({
  name: 'promote',
  description: 'Sets the rank',
  parameters: z.object({ rank: z.string() }),
  execute: ({ rank }) => withUpdate('promoted', contextUpdate().set('rank', rank)),
});
const rankOf = defineTool({
  name: 'rank',
  description: 'Tells the rank',
  parameters: z.object({}),
  execute: (_, context: { readonly deps: Readonly<z.infer<typeof deps>> }) => context.deps.rank,
});

const executor = quickjs({ limits: { timeoutSeconds: 5 } });
const local = { executor, tier: 'local' } as const;
const remote = { executor, tier: 'remote' } as const;
const tools: AnyTool[] = [find, cached, rows, careful, down, keeping];
/** An agent whose code runs in local activities. */
export const coder = agentWith(tools, { code: local });
/** An agent whose code runs in activities. */
export const far = agentWith(tools, { code: remote });
/** An agent whose code may print little. */
export const narrow = agentWith(tools, {
  code: { executor: quickjs({ limits: { timeoutSeconds: 5, maxOutputBytes: 100 } }), tier: 'local' },
});
/** An agent whose code has little time. */
export const hasty = agentWith(tools, { code: { executor: quickjs({ limits: { timeoutSeconds: 2 } }), tier: 'local' } });
/** An agent that may call three tools. */
export const limited = agentWith(tools, { code: local, limits: { toolCalls: 3 } });
/** An agent with tools that read and change the deps. */
export const promoting = defineAgent({ name: 'agent', model: 'scripted/m', deps, tools: [promote, rankOf], code: local });
/** An agent whose code has a value by the deps from the start. */
export const ranked = defineAgent({
  name: 'agent',
  model: 'scripted/m',
  deps,
  tools: [promote, rankOf],
  code: { ...remote, inject: ({ deps: { rank } }) => ({ first: rank, ranks: [rank] }) },
});

/** Answers of the model that run the cells in order, and then end. */
export function cells(...codes: readonly string[]): ScriptEntry[] {
  return [...codes.map((code, index) => callTool('run_code', { code }, `c${index + 1}`)), say('done')];
}
