import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { openai } from '../../activities/models/openai/openai.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import type { ModelClient } from '../../src/core/domain/model.ts';
import { type AnyAgent, defineAgent, defineTool, ToolFailure, toolOutput } from '../../src/index.ts';
import { isUndecidedRun, testAgent } from '../../src/testing/index.ts';
import { type AgentChanges, type Conversation, HALF_CHARACTER, type Outcome, QUESTION, type Stage, type Tools } from './conversation.ts';
import { CELL_HEADER, CellProvider, type FakeServer, messageOf, type ScriptEntry } from './fake-provider.ts';
import type { Family } from './families/family.ts';
import { sessionInMemory } from './session-in-memory.ts';

/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The tools of the table. Each records the calls that it runs. */
function toolKit(stage: Pick<Stage, 'ran' | 'whileSlow'>): Tools {
  const note = (name: string, args: object): void => void stage.ran.push([name, structuredClone(args)]);
  return [
    defineTool({
      name: 'look_up',
      description: 'Looks up an order',
      parameters: z.object({ order: z.number() }),
      execute: (args) => {
        note('look_up', args);
        return `Order ${args.order} is on its way.`;
      },
    }),
    defineTool({
      name: 'pay',
      description: 'Pays an amount',
      effect: 'once',
      parameters: z.object({
        order: z.number().optional(),
        amount: z.number().optional(),
        to: z.string().optional(),
        note: z.string().optional(),
        urgent: z.boolean().optional(),
        paths: z.array(z.string()).optional(),
        items: z.array(z.object({ id: z.number() })).optional(),
      }),
      execute: (args) => {
        note('pay', args);
        return 'paid';
      },
    }),
    defineTool({
      name: 'photo',
      description: 'Takes a photo of a parcel',
      parameters: z.object({ order: z.number() }),
      execute: (args) => {
        note('photo', args);
        return toolOutput([{ type: 'image', data: PIXEL, mediaType: 'image/png' }]);
      },
    }),
    defineTool({
      name: 'break',
      description: 'Fails',
      parameters: z.object({ order: z.number() }),
      execute: (args) => {
        note('break', args);
        throw new ToolFailure('there is no such order');
      },
    }),
    defineTool({
      name: 'echo',
      description: 'Says a text again',
      parameters: z.object({ text: z.string() }),
      execute: (args) => {
        note('echo', args);
        return args.text;
      },
    }),
    defineTool({
      name: 'nothing',
      description: 'Returns an empty text',
      parameters: z.object({}),
      execute: (args) => {
        note('nothing', args);
        return '';
      },
    }),
    defineTool({
      name: 'half',
      description: 'Returns half of a character',
      parameters: z.object({}),
      execute: (args) => {
        note('half', args);
        return `cut ${HALF_CHARACTER}`;
      },
    }),
    defineTool({
      name: 'slow',
      description: 'Takes its time',
      parameters: z.object({ order: z.number() }),
      execute: async (args, { signal }) => {
        note('slow', args);
        stage.whileSlow?.();
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 30);
          signal.addEventListener('abort', () => resolve(), { once: true });
          signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
        });
        return 'done';
      },
    }),
  ];
}

/** What a verdict is about, besides the outcome. */
interface Judged {
  family: Family;
  conversation: Conversation;
  provider: CellProvider;
  script: readonly ScriptEntry[];
}

/** Returns what does not hold: of the expectation, and of what must hold after any conversation. */
function problemsOf(outcome: Outcome, judged: Judged): string[] {
  const { conversation, family } = judged;
  return [
    ...endProblems(outcome, judged),
    ...ranProblems(outcome, judged),
    ...requestProblems(outcome, judged),
    ...historyProblems(outcome),
    conversation.expect.check?.(outcome, family),
  ].filter((problem) => problem !== undefined);
}

function endProblems({ result, turns, exchanged }: Outcome, { conversation, script, family }: Judged): (string | undefined)[] {
  const { expect } = conversation;
  if (expect.orTruthfulError === true && isTruthful(result.error, exchanged)) return [];
  const { status = 'completed', code, says } = expect;
  const error = result.error ?? turns.find((turn) => turn.error !== null)?.error ?? '';
  const problems: (string | undefined)[] = [];
  if (result.status !== status) problems.push(`status ${result.status}, expected ${status}${error === '' ? '' : `: ${error}`}`);
  if (code !== undefined && !([code].flat() as string[]).includes(result.errorCode ?? '')) {
    problems.push(`error code ${result.errorCode ?? 'none'}, expected ${[code].flat().join(' or ')}`);
  }
  if (says !== undefined && !error.includes(says(family))) problems.push(`the error does not say ${quote(says(family))}: ${quote(error)}`);
  if (expect.turns !== undefined) {
    const outputs = turns.map((turn) => (turn.status === 'completed' ? turn.output : turn.status));
    if (!isDeepStrictEqual(outputs, expect.turns)) {
      const errors = turns.flatMap((turn) => (turn.error === null ? [] : [turn.error]));
      problems.push(`turns ${quote(outputs)}, expected ${quote(expect.turns)}${errors.length === 0 ? '' : `: ${errors.join(' | ')}`}`);
    }
  } else if (status === 'completed' && result.status === 'completed' && expect.anyOutput !== true) {
    const output = 'output' in expect ? expect.output : lastText(script);
    if (!isDeepStrictEqual(result.output, output)) problems.push(`output ${quote(result.output)}, expected ${quote(output)}`);
  }
  // An empty answer is not an answer.
  if (result.status === 'completed' && result.output === '' && turns.length === 0) problems.push('completed with an empty output');
  return problems;
}

/** True for an error that says what the provider said about the last request. */
function isTruthful(error: string | null, exchanged: Outcome['exchanged']): boolean {
  const said = exchanged.at(-1)?.refused;
  return said !== undefined && error?.includes(said) === true;
}

function lastText(script: readonly ScriptEntry[]): unknown {
  const texts = script.flatMap((entry) =>
    typeof entry === 'object' && entry.type === 'said' && entry.text !== undefined ? [entry.text] : [],
  );
  return texts.at(-1);
}

function ranProblems({ ran, result, exchanged }: Outcome, { conversation }: Judged): string[] {
  const { ran: expected = [], anyRan, orTruthfulError } = conversation.expect;
  if (anyRan === true) return [];
  if (orTruthfulError === true && ran.length === 0 && isTruthful(result.error, exchanged)) return [];
  return isDeepStrictEqual([...ran], [...expected]) ? [] : [`ran ${quote(ran)}, expected ${quote(expected)}`];
}

function requestProblems({ exchanged }: Outcome, { conversation, family, provider }: Judged): (string | undefined)[] {
  const { refusals = 0, models = 1, usedUp } = conversation.expect;
  const refused = exchanged.flatMap((one) => (one.refused === undefined ? [] : [one.refused]));
  const most = family.learns * models + refusals;
  const { entries, unplanned } = provider.leftOver;
  return [
    refused.length > most
      ? `${refused.length} requests were refused, at most ${most} may be: ${refused.slice(0, 4).join(' | ')}`
      : undefined,
    repeatedRefusal(exchanged),
    unplanned > 0 ? `${unplanned} more requests than planned` : undefined,
    usedUp !== false && conversation.expect.orTruthfulError !== true && entries > 0
      ? `${entries} replies of the script were never asked for`
      : undefined,
  ];
}

/** A request that was refused for good must not be resent unchanged. */
function repeatedRefusal(exchanged: Outcome['exchanged']): string | undefined {
  const refused = new Map<string, string>();
  for (const { request, refused: why, reply } of exchanged) {
    const before = refused.get(request.json);
    if (before !== undefined) return `a refused request was sent again unchanged: ${before}`;
    const final = reply?.type === 'status' && isFinal(reply.failure.status) ? messageOf(reply.failure) : undefined;
    if (why !== undefined || final !== undefined) refused.set(request.json, why ?? final ?? '');
  }
  return undefined;
}

function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 429].includes(status);
}

/** Nothing is twice in the record or in a request. */
function historyProblems({ events, exchanged }: Outcome): (string | undefined)[] {
  // What a caller gives may be anything.
  const items = events.flatMap(({ given, content }) => (given === true ? [] : content));
  const called = items.flatMap((item) => (item.type === 'tool_call' ? [item.toolCallId] : []));
  const answered = items.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : []));
  const said = items.flatMap((item) =>
    item.type === 'message' && typeof item.content === 'string' ? [`${item.role}: ${item.content}`] : [],
  );
  const sent =
    exchanged.at(-1)?.request.messages.flatMap(({ role, text }) => (text === '' || role === 'tool' ? [] : [`${role}: ${text}`])) ?? [];
  return [
    twice('call ids of the record', called),
    twice('results of the record', answered),
    twice('messages of the record', said),
    twice('messages of the last request', sent),
    called.length === answered.length ? undefined : `${called.length} calls and ${answered.length} results are recorded`,
  ];
}

function twice(what: string, texts: readonly string[]): string | undefined {
  const found = texts.find((text, index) => texts.indexOf(text) !== index);
  return found === undefined ? undefined : `twice among the ${what}: ${quote(found)}`;
}

function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/** One cell of the table. */
export interface Cell {
  family: Family;
  conversation: Conversation;
}

let cells = 0;

/** Holds a conversation with a family. Returns what does not hold; nothing for a cell that passes. */
export async function play(server: FakeServer, { family, conversation }: Cell): Promise<string[]> {
  const id = `cell-${++cells}`;
  const script = typeof conversation.script === 'function' ? conversation.script(family) : conversation.script;
  const provider = new CellProvider(family, script, conversation.always);
  if (conversation.longest !== undefined) provider.longest = conversation.longest;
  const stage: Stage = { family, provider, ran: [], key: `key-of-${id}`, cleanUps: [], agent: (changes) => agentOf(stage, changes) };
  const { whileSlow } = conversation;
  if (whileSlow !== undefined) stage.whileSlow = () => whileSlow(stage);
  server.add(id, provider, family);
  try {
    const outcome = await hold(conversation, stage, clientOf(conversation, stage, id));
    return problemsOf(outcome, { family, conversation, provider, script });
  } catch (error) {
    return [isUndecidedRun(error) ? 'the run waits for a decision' : `it threw: ${errorMessage(error)}`];
  } finally {
    server.remove(id);
    for (const cleanUp of stage.cleanUps) await cleanUp();
  }
}

/** The client as its users make it: nothing is declared but what the family's own documents ask for. */
function clientOf({ client }: Conversation, stage: Stage, id: string): ModelClient {
  const { baseURL, options } = stage.family;
  const capabilities = { ...options?.capabilities, ...client?.capabilities };
  return openai({ ...options, ...client, capabilities, baseURL, apiKey: () => stage.key, headers: { [CELL_HEADER]: id } });
}

function agentOf(stage: Stage, changes: AgentChanges = {}): AnyAgent {
  return defineAgent({
    name: 'clerk',
    model: `openai/${stage.family.model}`,
    instructions: 'You answer customers.',
    tools: toolKit(stage),
    ...changes,
  });
}

async function hold(conversation: Conversation, stage: Stage, model: ModelClient): Promise<Outcome> {
  const { agent: changes = {}, input = QUESTION, messages, meanwhile, session } = conversation;
  const agent = stage.agent(typeof changes === 'function' ? await changes(stage) : changes);
  const { ran, provider } = stage;
  const { exchanged } = provider;
  if (session !== undefined) {
    const options = (one: AnyAgent): { agents: AnyAgent[]; providers: Record<string, ModelClient> } => ({
      agents: [one],
      providers: { openai: model },
    });
    const outcome = await sessionInMemory(agent, options, session(stage), (live) => (stage.session = live));
    return { ...outcome, steps: [], exchanged, ran };
  }
  const { result, events, steps } = await testAgent(agent, {
    input,
    model,
    ...(messages === undefined ? {} : { messages }),
    ...(meanwhile === undefined ? {} : { meanwhile }),
  });
  return { result, turns: [], events, steps, exchanged, ran };
}
