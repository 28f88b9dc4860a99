import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool, mcpServer } from '../../../src/index.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { writeEffect } from './ledger.ts';
import { isToolCall, outputText, type ToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';

/** An MCP server in a process of each worker, which dies with it. */
const EVERYTHING = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

/** Milliseconds of a call that does nothing: a run without work should not keep its worker busy. */
const REST_MS = 100;

/** The agents of the storm. Each is there a second time, with bursts. */
type StormAgent = 'payer' | 'talker' | 'clerk' | 'greeter';

/** Returns the name of a run's agent. Every third run has an agent that makes its quick steps in bursts. */
export function agentOf(name: StormAgent, number: number): string {
  return number % 3 === 0 ? inBursts(name) : name;
}

/** Returns the name of an agent with bursts. */
export function inBursts(name: StormAgent): string {
  return `${name}_in_bursts`;
}

/**
 * The agents of the storm: one that pays once, one that continues until it is told to stop, one with so many rounds of calls, and one with
 * a single round. Payments are recorded in the ledger.
 */
export function stormAgents(ledger: string): AnyAgent[] {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({ number: z.int() }),
    approval: 'always',
    execute: ({ number }, { runId, idempotencyKey: key, retry }) => {
      writeEffect(ledger, { tool: 'pay', runId, number, key, retry, at: Date.now() });
      return `paid ${number}`;
    },
  });
  const rest = defineTool({
    name: 'rest',
    description: 'Does nothing for a moment. The number is that of the last payment',
    parameters: z.object({ number: z.int() }),
    execute: () => pause(REST_MS, 'rested'),
  });
  const work = defineTool({
    name: 'work',
    description: 'Works for so many milliseconds',
    parameters: z.object({ number: z.int(), ms: z.int() }),
    timeout: '10m',
    execute: async ({ number, ms }, { runId, idempotencyKey: key, retry, signal }) => {
      await pause(ms, undefined, { signal });
      writeEffect(ledger, { tool: 'work', runId, number, key, retry, at: Date.now() });
      return 'worked';
    },
  });
  const noting = {
    name: 'note',
    description: 'Notes something, without a task of its own',
    parameters: z.object({ number: z.int() }),
    execute: ({ number }: { number: number }) => `noted ${number}`,
  };
  const note = defineTool({ ...noting, tier: 'local' });
  // No burst makes local calls.
  const noteInBurst = defineTool(noting);
  const everything = mcpServer({
    name: 'everything',
    command: process.execPath,
    args: [EVERYTHING, 'stdio'],
    tools: { include: ['echo'] },
  });
  const payer = { name: 'payer', model: 'storm/payer', tools: [pay] } as const;
  const talker = { name: 'talker', model: 'storm/talker', tools: [pay, rest, work], limits: { steps: 1_000_000 } } as const;
  const clerk = { name: 'clerk', model: 'storm/clerk', mcp: [everything], limits: { steps: 1_000 } } as const;
  const greeter = { name: 'greeter', model: 'storm/greeter' } as const;
  const burst = true;
  return [
    defineAgent(payer),
    defineAgent({ ...payer, name: inBursts('payer'), burst }),
    defineAgent(talker),
    defineAgent({ ...talker, name: inBursts('talker'), burst }),
    defineAgent({ ...clerk, tools: [pay, rest, note] }),
    defineAgent({ ...clerk, name: inBursts('clerk'), tools: [pay, rest, noteInBurst], burst }),
    defineAgent({ ...greeter, tools: [rest, note] }),
    defineAgent({ ...greeter, name: inBursts('greeter'), tools: [rest, noteInBurst], burst }),
  ];
}

/** The first message to the talker, as JSON. */
export interface TalkerInput {
  /** Number of payments that it requests in all. */
  payments: number;
  /** Number of payments that it requests in one response. */
  together: number;
  /** Milliseconds of a call that comes with the first of them; 0: no call. */
  workMs: number;
}

/** The first message to the clerk, as JSON. */
export interface ClerkInput {
  /** Rounds of calls. */
  rounds: number;
}

/** The message that makes the talker answer. */
export const STOP = 'stop';

/** A model whose answer depends on the conversation alone: it is the same for every worker and every repetition. */
export function stormModel(): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request) => Promise.resolve(MODELS[request.model]?.(request) ?? talkerAnswer(request)),
  };
}

const MODELS: Readonly<Record<string, (request: ModelRequest) => ModelResponse>> = {
  payer: payerAnswer,
  talker: talkerAnswer,
  clerk: clerkAnswer,
  greeter: greeterAnswer,
};

/**
 * Two calls at once in every round; in every third round one that waits for approval, and in the next one a call of an MCP
 * server.
 */
function clerkAnswer(request: ModelRequest): ModelResponse {
  if (request.tools.length === 0) return answer('Much was said.');
  const { rounds } = JSON.parse(said(request)[0] ?? '') as ClerkInput;
  const round = lastNumber(request) + 1;
  if (round > rounds) return answer('Done.');
  const asked = round % 3 === 0 ? [payment(round)] : [];
  const others = ['rest', 'note'].map((name): RawToolCall => ({ id: `${name}-${round}`, name, arguments: { number: round } }));
  const echo = round % 3 === 1 ? [{ id: `echo-${round}`, name: 'echo', arguments: { message: 'here' } }] : [];
  return calls([...asked, ...others, ...echo]);
}

/** Two calls at once, and then the answer. */
function greeterAnswer(request: ModelRequest): ModelResponse {
  if (lastNumber(request) > 0) return answer('Welcome.');
  return calls(['rest', 'note'].map((name) => ({ id: `${name}-1`, name, arguments: { number: 1 } })));
}

/** Makes the payment of its input once, and answers with the result. */
function payerAnswer(request: ModelRequest): ModelResponse {
  const result = request.conversation.flatMap(({ content }) => content).find((item) => item.type === 'tool_result');
  if (result !== undefined) return answer(result.content.map((part) => outputText(part)).join(' '));
  return calls([{ id: 'pay-1', name: 'pay', arguments: { number: Number(said(request)[0]) } }]);
}

/** Requests its payments, rests when there are none left, and answers when it is told to. */
function talkerAnswer(request: ModelRequest): ModelResponse {
  const [first = '', ...messages] = said(request);
  // A request for a summary has no tools.
  if (request.tools.length === 0) return answer('Much was said.');
  if (messages.includes(STOP)) return answer('Stopped.');
  const { payments, together, workMs } = JSON.parse(first) as TalkerInput;
  const last = lastNumber(request);
  const count = Math.max(0, Math.min(together, payments - last));
  if (count === 0) return calls([{ id: 'rest', name: 'rest', arguments: { number: last } }]);
  const asked: RawToolCall[] = Array.from({ length: count }, (_, index) => payment(last + 1 + index));
  if (last === 0 && workMs > 0) asked.push({ id: 'work', name: 'work', arguments: { number: 0, ms: workMs } });
  return calls(asked);
}

function payment(number: number): RawToolCall {
  return { id: `pay-${number}`, name: 'pay', arguments: { number } };
}

/** The number of the last requested payment. */
function lastNumber({ conversation }: ModelRequest): number {
  const asked = conversation.flatMap(({ content }): ToolCall[] => content.filter(isToolCall));
  return Math.max(0, ...asked.map((call) => Number(call.arguments['number'] ?? 0)));
}

function said({ conversation }: ModelRequest): string[] {
  return conversation
    .flatMap(({ content }) => content)
    .flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : []));
}

const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

function answer(content: string): ModelResponse {
  return { content, toolCalls: [], usage: USAGE, finishReason: 'stop' };
}

function calls(toolCalls: RawToolCall[]): ModelResponse {
  return { content: '', toolCalls, usage: USAGE, finishReason: 'tool_calls' };
}
