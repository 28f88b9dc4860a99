import { z } from 'zod';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import { callRules, contentFilter, defineAgent, defineTool, personalData } from '../../src/index.ts';
import { assistant, broken, search } from '../server/testbed/agents.ts';
import { clerk, refund } from '../server/approvals/decision-agents.ts';
import { HeldArchive } from '../server/archive/held-archive.ts';
import { codeAgents } from './code-agents.ts';
import { asker, counter, teller } from './effect-agents.ts';
import { bursting } from './scenarios/agents/bursts.ts';
import { hookedLead, remotelyHooked } from './scenarios/agents/hooks.ts';
import { scout } from './scenarios/agents/hosted.ts';
import { severalAgents } from './several-agents.ts';
import { keeper, leader, sideBySide } from './sub-agents.ts';
import { locals, localsInSequence } from './local-agents.ts';

const checked = defineAgent({
  name: 'checked',
  model: 'scripted/m',
  tools: [search],
  guardrails: [
    personalData({ type: 'input' }),
    callRules({ arguments: { query: /forbidden/ } }),
    contentFilter({ type: 'output', keywords: ['secret'] }),
  ],
});

const skilled = defineAgent({
  name: 'skilled',
  model: 'scripted/m',
  tools: [search],
  skills: [new URL('../testing/skills', import.meta.url)],
});

const mindful = defineAgent({
  name: 'mindful',
  model: 'scripted/m',
  tools: [search],
  memory: { recall: { topK: 2 } },
  window: { maxBytes: 6_000, keepResults: 1 },
});

const sequential = defineAgent({ name: 'sequential', model: 'scripted/m', tools: [search, broken], parallel: false });
const typed = defineAgent({ name: 'typed', model: 'scripted/m', output: z.object({ answer: z.number() }), limits: { steps: 5 } });
const researcher = defineAgent({ name: 'researcher', model: 'scripted/m' });
const writer = defineAgent({ name: 'writer', model: 'scripted/m' });
const lastWords = defineAgent({ name: 'last_words', model: 'scripted/m', tools: [search], limits: { steps: 1 }, finalAttempt: true });
const listed = defineAgent({ name: 'listed', model: ['scripted/gpt-4o', 'scripted/gpt-5'], tools: [search] });
const compacting = defineAgent({ name: 'compacting', model: 'scripted/m', tools: [search], window: { maxBytes: 6_000, keepResults: 1 } });

const bounded = defineAgent({
  name: 'bounded',
  model: 'scripted/m',
  tools: [search],
  limits: { toolCalls: 3, totalTokens: 30 },
  onLimit: 'ask',
});
const soon = defineTool({
  name: 'soon',
  description: 'Waits for a decision, not for long',
  parameters: z.object({}),
  approval: { when: 'always', deadline: '1s' },
  execute: () => 'done',
});
const hasty = defineAgent({ name: 'hasty', model: 'scripted/m', tools: [soon] });

let noted = 0;
const noteOnce = defineTool({
  name: 'note_once',
  description: 'Notes a text',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => `${text}${(noted += 1)}`,
});
const noting = defineAgent({ name: 'noting', model: 'scripted/m', tools: [noteOnce], parallel: false });
const slow = defineTool({
  name: 'slow',
  description: 'Takes longer than its run may',
  parameters: z.object({}),
  execute: async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    return 'late';
  },
});
const brief = defineAgent({ name: 'brief', model: 'scripted/m', tools: [slow], parallel: false, limits: { deadline: '1s' } });

const guarded = defineAgent({
  name: 'guarded',
  model: 'scripted/m',
  tools: [refund, search],
  permissions: { deny: [{ tool: 'refund', args: { amount: '200' } }], ask: ['refund'] },
});

const order = defineTool({ name: 'order', description: 'Orders', parameters: z.object({ article: z.string() }), execute: 'none' });
const ordering = defineAgent({ name: 'ordering', model: 'scripted/m', tools: [order, search] });

/** Archives that wait until a request has reached the run. */
export const archiveOfPaused = new HeldArchive();
export const archiveOfCancelled = new HeldArchive(() => noted === 1);
/** Its tools come and go, as for a run whose tasks are taken by workers of two releases. */
export const deployed = {
  ...defineAgent({ name: 'deployed', model: 'scripted/m', tools: [refund, search] }),
  tools: [refund, search] as AnyTool[],
};

/** The agents of the scenarios. */
export const agents = [
  hookedLead,
  remotelyHooked,
  assistant,
  sequential,
  typed,
  researcher,
  writer,
  lastWords,
  compacting,
  listed,
  clerk,
  bounded,
  hasty,
  noting,
  brief,
  ordering,
  guarded,
  locals,
  localsInSequence,
  teller,
  counter,
  asker,
  deployed as AnyAgent,
  ...codeAgents,
  ...severalAgents,
  keeper,
  leader,
  sideBySide,
  skilled,
  mindful,
  checked,
  bursting,
  scout,
];
