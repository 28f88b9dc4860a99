import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { z } from 'zod';
import { connect, LonghaulClient } from '../../../src/client/index.ts';
import { defined } from '../../../src/core/domain/json.ts';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import {
  agentTool,
  type AnyAgent,
  askHuman,
  type ContentItem,
  defineAgent,
  defineFlow,
  defineTool,
  type ModelClient,
  type RawToolCall,
} from '../../../src/index.ts';
import { createHandler, type Handler, type HandlerOptions } from '../../../src/server/index.ts';
import { type HttpServer, listen } from '../../../src/server/node-server.ts';
import { memoryStreams } from '../../../src/streams/memory-streams.ts';
import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { Testbed } from '../testbed/testbed.ts';

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
const clerk = defineAgent({
  name: 'clerk',
  description: 'Answers customers who want money back',
  model,
  instructions: 'You answer customers who want money back. Be kind, and pay only what the rules allow.',
  tools: [findOrder, refund, flaky, agentTool(reader, { description: 'Reads an order.' })],
});

/** Says and calls whatever the input names, as JSON: texts of others in every place. */
const parrot = defineAgent({
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
const forgetful = defineAgent({
  name: 'forgetful',
  description: 'Reads a manual that is larger than its memory',
  model,
  instructions: 'You forget.',
  tools: [readPage],
  window: { maxBytes: 3_000, keepResults: 1 },
});

/** Needs to know where its user is. */
const guide = defineAgent({
  name: 'guide',
  description: 'Shows people a city',
  model,
  instructions: 'You guide.',
  deps: z.object({ city: z.string(), days: z.int(), vip: z.boolean().default(false) }),
});

/** Asks its user before it answers. */
const asker = defineAgent({
  name: 'asker',
  description: 'Asks which colour it shall be',
  model,
  instructions: 'You ask.',
  tools: [
    askHuman({ name: 'ask_colour', description: 'Asks for the colour', answer: z.object({ colour: z.string(), glossy: z.boolean() }) }),
  ],
});

/** Asks a person for more when its steps are used up. */
const limited = defineAgent({
  name: 'limited',
  description: 'Has two steps',
  model,
  instructions: 'You are limited.',
  tools: [findOrder],
  limits: { steps: 2 },
  onLimit: 'ask',
});

/** Hands over to the parrot. */
const desk = defineAgent({
  name: 'desk',
  description: 'Passes people on',
  model,
  instructions: 'You pass people on.',
  handoffs: [parrot],
});

const writer = defineAgent({ name: 'writer', model, instructions: 'You write.' });
const editor = defineAgent({ name: 'editor', model, instructions: 'You edit.' });

/** Writes, and corrects it. */
const article = defineFlow({ name: 'article', kind: 'sequential', agents: [writer, editor] });

/** Two units: the second one breaches an anchor at first. */
const letter = defineProgram({
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
const AGENTS = [clerk, parrot, forgetful, guide, asker, limited, desk, article, writer, editor, reader];

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
function shopModel({ everyMs = 0 }: { everyMs?: number } = {}): ModelClient {
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
  if (instructions.startsWith('You fail')) throw new ModelError(/busy/.test(said) ? 503 : 400);
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

/** What a provider answers that refuses a request. */
class ModelError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(status === 503 ? 'Overloaded' : 'The request is not understood');
    this.status = status;
  }
}

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

/** The browser of this machine, if it has one. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) => existsSync(file));

/** What tests of the page lack on this machine, for the names of skipped tests, or an empty text. */
export const SKIPPED = CHROMIUM === undefined ? ' (skipped: chromium is not installed)' : '';

/** The options of the service, the pause between two words of the model, the way from the service to Temporal, and what stores hold of runs. */
type StudioOptions = HandlerOptions & { everyMs?: number; temporal?: LonghaulClient['temporal'] } & Stored;

/** How workers, clients and the service write payloads, and further agents. */
type Stored = Pick<CreateWorkerOptions, 'codec' | 'payloadStore'> & { more?: readonly AnyAgent[] };

/** A service with the page, a worker with the agents of a shop, and a browser. Its runs belong to one tenant. */
export class StudioTestbed {
  readonly tenant: string;
  readonly testbed: Testbed;
  readonly client: LonghaulClient;
  /** The client of the service: if it verifies its callers, it reaches the runs of all. */
  readonly unbound: LonghaulClient;
  readonly browser: Browser;
  /** What went wrong in pages: errors, requests of other hosts, and breaches of the policy. */
  readonly problems: string[] = [];
  /** The requests of all pages: method and path. */
  readonly requests: { method: string; path: string }[] = [];
  /** The origins other than its own that a page may lead its reader to: an issuer's. */
  readonly leadsTo = new Set<string>();
  readonly #connected: LonghaulClient | undefined;
  #handler: Handler;
  #server: HttpServer;

  private constructor(parts: {
    testbed: Testbed;
    client: LonghaulClient;
    unbound: LonghaulClient;
    browser: Browser;
    handler: Handler;
    server: HttpServer;
    tenant: string;
    connected: LonghaulClient | undefined;
  }) {
    this.testbed = parts.testbed;
    this.client = parts.client;
    this.unbound = parts.unbound;
    this.browser = parts.browser;
    this.#handler = parts.handler;
    this.#server = parts.server;
    this.#connected = parts.connected;
    this.tenant = parts.tenant;
  }

  static async open({ everyMs = 0, codec, payloadStore, more = [], ...options }: StudioOptions = {}): Promise<StudioTestbed> {
    const testbed = await Testbed.open();
    const tenant = `acme-${randomUUID().slice(0, 6)}`;
    const streams = memoryStreams();
    const provider = shopModel({ everyMs });
    const prices = { 'scripted/clerk': { input: 2, output: 8 } };
    const stored = defined({ codec, payloadStore });
    const agents = [...AGENTS, ...more];
    await testbed.work({ agents, programs: [letter], providers: { scripted: provider }, prices, streams, ...stored });
    const { taskQueue, address } = testbed;
    const { namespace } = testbed.client.temporal.options;
    const connected = codec === undefined ? undefined : await connect({ address, namespace, codec });
    const decoding = (connected ?? testbed.client).temporal;
    const client = new LonghaulClient(decoding, { taskQueue, streams, principal: { tenant } });
    const { temporal = decoding, ...handlerOptions } = options;
    // A service that verifies its callers acts for each of them, and for nobody itself.
    const principal = options.authenticate === undefined ? { principal: { tenant } } : {};
    const own = new LonghaulClient(temporal, { taskQueue, streams, ...principal, ...defined({ payloadStore }) });
    const handler = createHandler(own, {
      agents,
      programs: [letter],
      providers: { scripted: provider },
      studio: true,
      limits: false,
      ...handlerOptions,
    });
    const server = await listen(handler, { host: '127.0.0.1', port: 0 });
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
    return new StudioTestbed({ testbed, client, unbound: own, browser, handler, server, tenant, connected });
  }

  get url(): string {
    return `${this.#server.url}/studio`;
  }

  /** Opens the page at a place, in a separate browser. Its problems are in `problems`. */
  async page(place = '', options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    const { origin } = new URL(this.url);
    page.on('pageerror', (error) => this.problems.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // The browser itself reports each refusal of the service, and tests provoke refusals.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) this.problems.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol === 'data:') return;
      if (request.isNavigationRequest() && this.leadsTo.has(url.origin)) return;
      if (url.origin !== origin) this.problems.push(`request of another host: ${request.url()}`);
      this.requests.push({ method: request.method(), path: url.pathname });
    });
    await page.addInitScript(
      'addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`))',
    );
    await page.goto(`${this.url}${place}`);
    return page;
  }

  /** Lets requests pass through a function from now on, as if the service had another version. */
  changeService(change: (request: Request, next: Handler) => Promise<Response>): void {
    const next = this.#handler;
    this.#handler = (request) => change(request, next);
  }

  /** Ends the service, does something, and starts the service again at the same port. */
  async restart(meanwhile: () => Promise<void>): Promise<void> {
    const port = Number(new URL(this.#server.url).port);
    await this.#server.close(0);
    await meanwhile();
    this.#server = await listen(this.#handler, { host: '127.0.0.1', port });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.#server.close(0);
    await this.#connected?.close();
    await this.testbed[Symbol.asyncDispose]();
  }
}

/** Returns what axe finds wrong with a page, each with the element. */
export async function axeProblems(page: Page): Promise<string[]> {
  // The policy of the page blocks scripts that are added to it.
  const session = await page.context().newCDPSession(page);
  await session.send('Page.setBypassCSP', { enabled: true });
  await session.send('Runtime.evaluate', { expression: axe.source });
  const found = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return JSON.parse(String(found.result.value)) as string[];
}

/** The time that a page has to show something, in milliseconds. */
const SHOWN_WITHIN_MS = Number(process.env['STUDIO_SHOWN_WITHIN_MS'] ?? 40_000);

/** Waits until a page shows a text. Throws with what it shows instead. */
export async function shows(page: Page, text: string | RegExp): Promise<void> {
  let all = '';
  const isShown = async (): Promise<boolean> => {
    all = await page.locator('body').innerText();
    return typeof text === 'string' ? all.includes(text) : text.test(all);
  };
  try {
    await expect.poll(isShown, { timeout: SHOWN_WITHIN_MS, interval: 100 }).toBe(true);
  } catch (cause) {
    throw new Error(`The page does not show ${text}, but:\n${all.slice(0, 3_000)}`, { cause });
  }
}

/** Presses Tab until the element with that name has the focus. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let presses = 0; presses < 120; presses += 1) {
    await page.keyboard.press('Tab');
    const text = await page.evaluate(
      '(() => { const one = document.activeElement; return [one.getAttribute("aria-label"), one.labels?.[0]?.textContent, one.textContent].find((text) => text) ?? ""; })()',
    );
    if (typeof name === 'string' ? String(text).startsWith(name) : name.test(String(text))) return;
  }
  throw new Error(`No element named ${name} can be reached by Tab`);
}

/** Presses Tab until the element with that name has the focus, and then Enter. */
export async function press(page: Page, name: string | RegExp): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}
