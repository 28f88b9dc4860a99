import { setTimeout as pause } from 'node:timers/promises';
import type { ContentItem, ModelClient, RawToolCall } from '../../../src/index.ts';
import { agentTool, askHuman, defineAgent, defineFlow, defineTool } from '../../../src/index.ts';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import { z } from 'zod';

/** The agents that the page shows in tests: a shop, with a scripted model. */
const model = 'scripted/clerk' as const;

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number',
  parameters: z.object({ order: z.int() }),
  category: 'read',
  execute: ({ order }) => ({ order, article: 'Lamp "Sea"', price: 80, deliveredDaysAgo: 9 }),
});

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  parameters: z.object({
    order: z.int(),
    amount: z.number().positive(),
    currency: z.enum(['EUR', 'USD']),
    express: z.boolean(),
    reasons: z.array(z.string()),
    note: z.string(),
  }),
  effect: 'once',
  approval: 'always',
  execute: ({ order, amount, currency }) => `Paid ${currency} ${amount} for order ${order}`,
});

const colour = defineTool({
  name: 'look_up',
  description: 'Looks something up',
  parameters: z.looseObject({}),
  execute: (args) => args,
});

let failures = 0;
const flaky = defineTool({
  name: 'ask_warehouse',
  description: 'Asks the warehouse, which does not always answer',
  parameters: z.object({ article: z.string() }),
  maxAttempts: 3,
  execute: () => {
    failures += 1;
    if (failures % 2 === 1) throw new Error('The warehouse does not answer');
    return { inStock: 12 };
  },
});

const reader = defineAgent({ name: 'order_reader', model, instructions: 'You read orders.', tools: [findOrder] });

/** Answers customers who want money back. */
export const clerk = defineAgent({
  name: 'clerk',
  description: 'Answers customers who want money back',
  model,
  instructions: 'You answer customers who want money back. Be kind, and pay only what the rules allow.',
  tools: [findOrder, refund, flaky, agentTool(reader, { description: 'Reads an order.' })],
});

/** Says and calls whatever the input names, as JSON: texts of others in every place. */
export const parrot = defineAgent({
  name: 'parrot',
  description: 'Repeats what it is told',
  model,
  instructions: 'You repeat.',
  tools: [colour],
});

const readPage = defineTool({
  name: 'read_page',
  description: 'Reads a page of the manual',
  parameters: z.object({ page: z.int() }),
  execute: ({ page }) => `Page ${page}. ${'It is about lamps. '.repeat(40)}The price on page ${page} is ${page * 10}.`,
});

/** Reads page after page, and has so small a window that it forgets them. */
export const forgetful = defineAgent({
  name: 'forgetful',
  description: 'Reads a manual that is larger than its memory',
  model,
  instructions: 'You forget.',
  tools: [readPage],
  window: { maxBytes: 3_000, keepResults: 1 },
});

/** Needs to know where its user is. */
export const guide = defineAgent({
  name: 'guide',
  description: 'Shows people a city',
  model,
  instructions: 'You guide.',
  deps: z.object({ city: z.string(), days: z.int(), vip: z.boolean().default(false) }),
});

/** Asks its user before it answers. */
export const asker = defineAgent({
  name: 'asker',
  description: 'Asks which colour it shall be',
  model,
  instructions: 'You ask.',
  tools: [
    askHuman({ name: 'ask_colour', description: 'Asks for the colour', answer: z.object({ colour: z.string(), glossy: z.boolean() }) }),
  ],
});

/** Asks a person for more when its steps are used up. */
export const limited = defineAgent({
  name: 'limited',
  description: 'Has two steps',
  model,
  instructions: 'You are limited.',
  tools: [findOrder],
  limits: { steps: 2 },
  onLimit: 'ask',
});

/** Hands over to the parrot. */
export const desk = defineAgent({
  name: 'desk',
  description: 'Passes people on',
  model,
  instructions: 'You pass people on.',
  handoffs: [parrot],
});

const writer = defineAgent({ name: 'writer', model, instructions: 'You write.' });
const editor = defineAgent({ name: 'editor', model, instructions: 'You edit.' });

/** Writes, and corrects it. */
export const article = defineFlow({ name: 'article', kind: 'sequential', agents: [writer, editor] });

/** Two units: the second one breaches an anchor at first. */
export const letter = defineProgram({
  name: 'letter',
  model,
  units: [
    unit('read', {}, [ask('Facts', 'List the facts.')]),
    unit('write', { needs: ['read'], anchors: ['RequiresCitation'] }, [
      ask('Letter', 'Write the letter about {{read.Facts}}', { refine: { maxAttempts: 3 } }),
    ]),
  ],
});

/** All agents of the shop, as a worker and a service have them. */
export const AGENTS = [clerk, parrot, forgetful, guide, asker, limited, desk, article, writer, editor, reader];

const priced = { promptTokens: 820, completionTokens: 40, totalTokens: 860, costUsd: 0.0021 };

type Script = readonly (string | RawToolCall[])[];

const REFUND = {
  order: 42,
  amount: 80,
  currency: 'EUR',
  express: false,
  reasons: ['arrived broken', 'within 30 days'],
  note: 'Dear customer,\nwe are sorry that your lamp arrived broken.\nYou get your money back within three days.',
};

const CLERK: Script = [
  [call('find_order', { order: 42 }), call('ask_warehouse', { article: 'Lamp "Sea"' })],
  [call('order_reader', { request: 'Order 42: was it paid?' })],
  [call('refund', REFUND)],
  'You get €80 back within three days. We are sorry that your lamp arrived broken.',
];

/** A model that plays the parts of these agents. It writes word by word. */
export function shopModel({ everyMs = 0 }: { everyMs?: number } = {}): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    describe: (request) => ({
      api: 'openai.chat',
      path: '/chat/completions',
      body: JSON.parse(
        JSON.stringify({ model: 'clerk', messages: [...request.instructions, ...request.conversation], tools: request.tools }),
      ),
      accounts: [],
    }),
    call: async ({ instructions, conversation }, { onDelta, signal }) => {
      const items = conversation.flatMap(({ content }) => content);
      const answer = answerOf(instructions[0] ?? '', items);
      const [content, toolCalls] =
        typeof answer === 'string' ? [answer, []] : [answer.length > 1 ? 'Let me look at the order first.' : '', answer];
      const pauseMs = content.startsWith('Slowly') ? 100 : everyMs;
      for (const word of content.split(/(?<= )/)) {
        onDelta?.({ type: 'text', text: word });
        if (pauseMs > 0) await pause(pauseMs, undefined, { signal });
      }
      return { content, toolCalls, usage: priced, finishReason: toolCalls.length > 0 ? 'tool_calls' : 'stop' };
    },
  };
}

function answerOf(instructions: string, items: readonly ContentItem[]): string | RawToolCall[] {
  const turn = items.findLastIndex((item) => item.type === 'message' && item.role === 'user');
  const given = items.slice(turn).filter((item) => item.type === 'tool_call').length;
  const message = items[turn];
  const said = message?.type !== 'message' ? '' : typeof message.content === 'string' ? message.content : JSON.stringify(message.content);
  if (instructions.startsWith('You read')) return given === 0 ? [call('find_order', { order: 42 })] : 'It was paid by card nine days ago.';
  if (instructions.startsWith('You repeat')) return repeated(said, given);
  if (instructions.startsWith('You forget'))
    return lastPage(items) < PAGES ? [call('read_page', { page: lastPage(items) + 1 })] : 'I do not know the price on page 1 any more.';
  if (instructions.startsWith('You export')) return given === 0 ? [call('export_rows', {})] : 'All rows are exported.';
  if (instructions.startsWith('You guide')) return `Welcome. You have sent ${mediaIn(items)}.`;
  if (instructions.startsWith('You ask')) {
    const question = ['Which colour?', 'And which one inside?'].slice(0, /inside/.test(said) ? 2 : 1)[given];
    return question === undefined ? 'It is done.' : [call('ask_colour', { question })];
  }
  if (instructions.startsWith('You pass')) return [call('transfer_to_agent', { agent: 'parrot' })];
  if (instructions.startsWith('You write')) return 'A draft.';
  if (instructions.startsWith('You edit')) return 'A good text.';
  if (/List the facts/.test(said)) return 'The lamp is broken [1].';
  if (/Write the letter/.test(said)) {
    letters += 1;
    return letters % 2 === 1 ? 'We pay.' : 'We pay, because the lamp is broken [1].';
  }
  if (/slowly/.test(said)) return `Slowly ${'and slowly '.repeat(100)}`;
  if (/twice/.test(said)) return given < 2 ? [call('refund', { ...REFUND, amount: 10 + given })] : 'Paid twice.';
  if (/many steps/.test(said)) return given < Number(/\d+/.exec(said)?.[0]) ? [call('find_order', { order: given })] : 'Done.';
  if (!/broken/.test(said)) return 'How can I help? Tell me the number of your order.';
  const steps = [0, 2, 3, 4];
  return CLERK[steps.findLastIndex((calls) => given >= calls)] ?? '';
}

/** Pages that the forgetful agent reads: its answer is step 7. */
const PAGES = 6;

/** The last page that was read, as far as the window goes back. */
function lastPage(items: readonly ContentItem[]): number {
  const pages = items.flatMap((item) => (item.type === 'tool_call' ? [Number(item.arguments['page'])] : []));
  return Math.max(0, ...pages);
}

let letters = 0;

/** Says how many files a user has sent. */
function mediaIn(items: readonly ContentItem[]): string {
  const parts = items.flatMap((item) => (item.type === 'message' && typeof item.content !== 'string' ? item.content : []));
  return `${parts.filter(({ type }) => type !== 'text').length} files`;
}

/** The input is what the parrot does: `{"args": …}` to call its tool with, `{"names": […]}` to call tools of these names, or a text to say. */
function repeated(said: string, given: number): string | RawToolCall[] {
  try {
    const told = JSON.parse(said) as { args?: object; say?: string; tool?: string; names?: string[] };
    const { args, say = '', tool = 'look_up', names } = told;
    if (names !== undefined && given === 0) return names.map((name) => call(name, {}));
    return args !== undefined && given === 0 ? [call(tool, args)] : say;
  } catch {
    return said;
  }
}

function call(name: string, args: object): RawToolCall {
  return { id: `call_${name}_${Math.random().toString(36).slice(2, 8)}`, name, arguments: args };
}
