import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import {
  agentTool,
  callRules,
  contentFilter,
  contextUpdate,
  defineAgent,
  defineFlow,
  defineTool,
  ModelRetry,
  personalData,
  quickjs,
  resource,
  withUpdate,
} from '../../src/index.ts';
import { clerk, deploy, mail, refund } from '../server/approvals/decision-agents.ts';
import { HeldArchive } from '../server/archive/held-archive.ts';
import { assistant, broken, search } from '../server/testbed/agents.ts';
import { bursting } from './scenarios/agents/bursts.ts';
import { askedAtPoints, hookedLead, remotelyHooked } from './scenarios/agents/hooks.ts';
import { scout } from './scenarios/agents/tools.ts';

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

const codeTools = [search, note, refund, mail];
const BASE = { model: 'scripted/m', tools: codeTools } as const;
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

const codeAgents = [coder, remoteCoder, boundedCoder, blockCoder, jsonReplier];

/** The time limit of a call that hangs: it is lost then. */
const SHORT = '300ms';

const hang = (): Promise<never> => new Promise(() => undefined);

const pay = defineTool({
  name: 'pay',
  description: 'Pays, once; its answer is lost',
  parameters: z.object({ amount: z.number() }),
  effect: 'once',
  timeout: SHORT,
  execute: hang,
});

const book = defineTool({
  name: 'book',
  description: 'Books, once; its answer is lost, and can be looked up',
  parameters: z.object({ seat: z.int() }),
  effect: 'once',
  timeout: SHORT,
  verify: () => ({ happened: true, result: 'booked' }),
  execute: hang,
});

const raiseBar = defineTool({
  name: 'raise_bar',
  description: 'Sets what needs a decision',
  parameters: z.object({ above: z.number() }),
  execute: ({ above }) => withUpdate('ok', contextUpdate<{ above: number; log: number[] }>().set('above', above).append('log', above)),
});

const spend = defineTool({
  name: 'spend',
  description: 'Spends; a person decides above the bar',
  parameters: z.object({ amount: z.number() }),
  approval: ({ amount }, context: { deps: Readonly<{ above?: number }> }) => amount > (context.deps.above ?? 100),
  execute: ({ amount }) => `spent ${amount}`,
});

const picky = defineTool({
  name: 'picky',
  description: 'Wants something else',
  parameters: z.object({}),
  modelRetries: 1,
  execute: () => {
    throw new ModelRetry('something else, please');
  },
});

function counting(options: { name: string; updates?: true; tier?: 'local' }) {
  return defineTool({
    ...options,
    description: 'Counts up',
    parameters: z.object({}),
    execute: (_, { deps }: { deps: Readonly<{ count?: number }> }) => {
      const count = (deps.count ?? 0) + 1;
      return withUpdate(count, contextUpdate<{ count: number }>().set('count', count));
    },
  });
}

/** Calls run in order, next to others that wait for a decision, are local, or do not declare their changes. */
const counter = defineAgent({
  name: 'counter',
  model: 'scripted/m',
  tools: [
    counting({ name: 'count', updates: true }),
    counting({ name: 'count_quickly', updates: true, tier: 'local' }),
    counting({ name: 'count_carelessly' }),
    spend,
    raiseBar,
  ],
});

const effectTools = [pay, book, raiseBar, spend, picky];

/** Calls overlap, and the model reads that an outcome is unknown. */
const teller = defineAgent({ name: 'teller', model: 'scripted/m', tools: effectTools });

/** Calls run in sequence, and a person is asked about an unknown outcome. */
const asker = defineAgent({ name: 'asker', model: 'scripted/m', tools: effectTools, parallel: false, onUnknownOutcome: 'ask' });

const billing = defineAgent({
  name: 'billing',
  model: 'scripted/m',
  description: 'Answers questions about invoices.',
  instructions: 'You are billing.',
  tools: [search],
  handoffs: ['triage'],
});
const form = defineAgent({ name: 'form', model: 'scripted/m', output: z.object({ answer: z.number() }) });
const account = defineAgent({ name: 'account', model: 'scripted/m', deps: z.object({ account: z.string() }) });
const triage = defineAgent({
  name: 'triage',
  model: 'scripted/m',
  instructions: 'You are triage.',
  tools: [search, refund],
  handoffs: [billing, form, account],
});

const pipeline = defineFlow({ name: 'pipeline', kind: 'sequential', agents: [triage, billing, form] });
const rounds = defineFlow({ name: 'rounds', kind: 'loop', agents: [billing, form], until: z.object({ answer: z.literal(4) }) });

/** Agents that hand over to each other, and flows of them. */
const severalAgents = [triage, billing, form, account, pipeline, rounds];

const approveText = defineTool({
  name: 'approve_text',
  description: 'Waits for a decision',
  parameters: z.object({ text: z.string() }),
  approval: 'always',
  execute: ({ text }) => `approved ${text}`,
});

const editor = defineAgent({ name: 'editor', model: 'child/m', deps: z.object({ user: z.number() }), tools: [approveText] });

const reader = defineAgent({ name: 'reader', model: 'scripted/m' });

/** Runs both agents at the same time. */
const sideBySide = defineFlow({ name: 'side_by_side', kind: 'parallel', agents: [editor, reader] });

/** Keeps an agent between its calls. */
const keeper = defineAgent({
  name: 'keeper',
  model: 'scripted/m',
  tools: [agentTool(editor, { share: ['user'], kept: true })],
});

/** Runs an agent that may wait for a decision. */
const leader = defineAgent({ name: 'leader', model: 'scripted/m', tools: [agentTool(editor, { share: ['user'] })] });

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

const localTools = [noteDown, fetchNote, strike, wait, recall, search];

/** An agent with local tools and a remote one. */
const locals = defineAgent({ name: 'locals', model: 'scripted/m', tools: localTools });

/** The same agent with sequential calls. */
const localsInSequence = defineAgent({ name: 'locals_in_sequence', model: 'scripted/m', tools: localTools, parallel: false });

/** Options of a worker for these agents. */
export const notebook = resource({
  lazy: true,
  open: () => {
    throw new Error('no notebook here');
  },
});

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
/** Its rule is about a default. */
const deployer = defineAgent({
  name: 'deployer',
  model: 'scripted/m',
  tools: [deploy],
  permissions: { deny: [{ tool: 'deploy', args: { version: '3', env: 'prod' } }] },
});

/** Its tools come and go, as for a run whose tasks are taken by workers of two releases. */
export const deployed = {
  ...defineAgent({ name: 'deployed', model: 'scripted/m', tools: [refund, search] }),
  tools: [refund, search] as AnyTool[],
};

/** The agents of the scenarios. */
export const agents = [
  hookedLead,
  remotelyHooked,
  askedAtPoints,
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
  deployer,
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
