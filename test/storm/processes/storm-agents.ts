import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool, mcpServer } from '../../../src/index.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { writeEffect } from './ledger.ts';

/** An MCP server in a process of each worker, which dies with it. */
const EVERYTHING = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

/** Milliseconds of a call that does nothing: a run without work should not keep its worker busy. */
const REST_MS = 100;

/** The agents of the storm. Each is there a second time, with bursts. */
export type StormAgent = 'payer' | 'talker' | 'clerk' | 'greeter';

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
