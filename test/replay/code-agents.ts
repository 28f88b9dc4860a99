import { z } from 'zod';
import { defineAgent, defineTool, quickjs } from '../../src/index.ts';
import { mail, refund } from '../server/approvals/decision-agents.ts';
import { search } from '../server/testbed/agents.ts';

const note = defineTool({
  name: 'note',
  description: 'Notes a text',
  tier: 'local',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }, { state, setState }) => {
    const notes = Number(state['notes'] ?? 0) + 1;
    setState('notes', notes);
    return `note ${notes}: ${text}`;
  },
});

const tools = [search, note, refund, mail];
const BASE = { model: 'scripted/m', tools } as const;
const executor = quickjs({ limits: { timeoutSeconds: 1 } });

/** Agents whose code runs inside the workflow task, and in separate activities. */
const coder = defineAgent({ ...BASE, name: 'coder', code: { executor, tier: 'local' } });
const remoteCoder = defineAgent({ ...BASE, name: 'remote_coder', code: { executor } });
const boundedCoder = defineAgent({
  ...BASE,
  name: 'bounded_coder',
  code: { executor, tier: 'local' },
  limits: { toolCalls: 2 },
  onLimit: 'ask',
});

/** Agents that answer with code, and with JSON. */
const blockCoder = defineAgent({ ...BASE, name: 'block_coder', code: { executor, tier: 'local' }, replyFormat: 'code' });
const jsonReplier = defineAgent({ ...BASE, name: 'json_replier', replyFormat: 'json' });

export const codeAgents = [coder, remoteCoder, boundedCoder, blockCoder, jsonReplier];
