import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool, resource } from '../../src/index.ts';
import { search } from '../server/testbed/agents.ts';

/** Keeps count in the run's state, and refuses an empty text. */
const noteDown = defineTool({
  name: 'note_down',
  description: 'Notes something down',
  tier: 'local',
  parameters: z.object({ text: z.string() }),
  maxAttempts: 2,
  backoff: { initial: 10 },
  execute: ({ text }, { state, setState }) => {
    if (text === '') throw new Error('there is nothing to note');
    const notes = Number(state['notes'] ?? 0) + 1;
    setState('notes', notes);
    return `note ${notes}: ${text}`;
  },
});

/** Needs a resource that cannot be opened: its activity fails, and leaves no result. */
const fetchNote = defineTool({
  name: 'fetch',
  description: 'Fetches what was noted',
  tier: 'local',
  parameters: z.object({}),
  resources: ['notebook'],
  maxAttempts: 1,
  execute: () => 'never',
});

const strike = defineTool({
  name: 'strike',
  description: 'Strikes a line out',
  tier: 'local',
  parameters: z.object({ line: z.number() }),
  approval: 'always',
  execute: ({ line }) => `struck ${line}`,
});

const wait = defineTool({
  name: 'wait',
  description: 'Waits',
  tier: 'local',
  parameters: z.object({ ms: z.number() }),
  timeout: '10s',
  execute: async ({ ms }, { signal }) => {
    await sleep(ms, undefined, { signal });
    return 'waited';
  },
});

/** May return so much that the calls of a response do not all fit into its task. */
const recall = defineTool({
  name: 'recall',
  description: 'Tells what was noted on a page',
  tier: 'local',
  parameters: z.object({ page: z.number() }),
  maxResultBytes: 400_000,
  execute: ({ page }) => `nothing on page ${page}`,
});

const tools = [noteDown, fetchNote, strike, wait, recall, search];

/** An agent with local tools and a remote one. */
export const locals = defineAgent({ name: 'locals', model: 'scripted/m', tools });

/** The same agent with sequential calls. */
export const localsInSequence = defineAgent({ name: 'locals_in_sequence', model: 'scripted/m', tools, parallel: false });

/** Options of a worker for these agents. */
export const notebook = resource({
  lazy: true,
  open: () => {
    throw new Error('no notebook here');
  },
});
